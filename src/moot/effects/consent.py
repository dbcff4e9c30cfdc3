"""What a person has allowed on this machine: handlers and commands of a repository.

A repository is untrusted. None of its commands runs until a person has allowed its exact content on this machine.
Consent is stored outside every repository, per workspace (`moot.place.user_state`), as lines with a digest and a
name. `moot.effects.pinned` defines the digest of a handler.
"""

from __future__ import annotations

import os
import time

from moot.core.errors import Unavailable
from moot.place import caches, user_state
from moot.place.private_files import outside, unsafe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from moot.core.handler import Handler
    from moot.effects.pinned import PinnedHandler

_FOLDER = "allowed"


class Consent:
    """The consent for one workspace. `workspace` is the id of its log; its path counts too: a copy inherits nothing.

    Handlers run in `root`, commands of agents in `here`. Files in them, in other worktrees and in the state directory
    belong to the workspace. `more` returns the current worktrees, because they can change while a runner runs.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        workspace: str,
        state: str,
        root: str,
        here: str | None = None,
        more: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._env = env
        self._more = more
        self._here = os.path.realpath(here or root)
        self._roots = tuple(os.path.realpath(path) for path in (root, state, self._here))
        self._name = user_state.workspace_name(workspace, state)
        self.root = self._roots[0]  # where its commands run
        self.path = os.path.join(user_state.home(env), _FOLDER, self._name)
        self._seen: list[Any] = []  # the signature of the file that `_known` was read from; empty: read it again
        self._known: dict[str, str] = {}

    def pinned(self, handler: Handler) -> PinnedHandler:
        """What the handler would do now, with the bytes of its files."""
        from moot.effects.pinned import pin

        return pin(handler, self._here if handler.stage else self.root, self._env, *self._roots, *self._more())

    def allows(self, handler: Handler) -> bool:
        return self.granted(handler) is not None

    def granted(self, handler: Handler) -> PinnedHandler | None:
        """What the handler would do now, if exactly that is allowed; otherwise None."""
        known = self.known()
        pinned = self.pinned(handler) if known else None
        return pinned if pinned is not None and pinned.trouble is None and pinned.digest in known else None

    def known(self) -> dict[str, str]:
        """What is allowed: names by digest. The file is read again whenever it has changed."""
        self._check()
        now = self._signature()
        if not now or now != self._seen:
            try:
                text = (user_state.read(self._env, _FOLDER, self._name) or b"").decode("ascii")
            except (OSError, UnicodeDecodeError) as error:
                raise self._unavailable(error) from error
            rows = [line.split() for line in text.splitlines()]
            self._known, self._seen = {row[0]: row[1] for row in rows if len(row) == 2}, now
        return self._known

    def _signature(self) -> list[Any]:
        """That of the file; empty if there is none, or it is so young that it could change and keep its signature."""
        try:
            found = caches.signature(user_state.path_of(self._env, _FOLDER, self._name))
        except OSError:
            return []
        return found if abs(time.time() - found[-1] / 1e9) > caches.YOUNG else []

    def give(self, named: Mapping[str, str]) -> None:
        """Allow these names by digest. Earlier digests of the same names stay allowed, for other branches."""
        self._keep({**self.known(), **named})

    def take_back(self, names: Iterable[str]) -> None:
        gone = set(names)
        self._keep({digest: name for digest, name in self.known().items() if name not in gone})

    def _keep(self, known: Mapping[str, str]) -> None:
        content = "".join(f"{digest} {name}\n" for digest, name in known.items()).encode("ascii")
        try:
            user_state.write(self._env, _FOLDER, self._name, content=content)
        except OSError as error:
            raise self._unavailable(error) from error

    def _check(self) -> None:
        """Refuse a consent file inside the workspace: the repository could have brought it."""
        if not all(outside(self.path, root) for root in self._roots):
            home = user_state.home(self._env)
            raise unsafe(home, "it is inside this workspace", "export XDG_STATE_HOME=/a/directory/outside/of/it")

    def _unavailable(self, error: Exception) -> Unavailable:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        return Unavailable(
            "consent_unusable",
            f"The consent file cannot be read or written: {why} ({self.path}).",
            "Make the file readable and writable for you only, or remove it and allow again.",
        )
