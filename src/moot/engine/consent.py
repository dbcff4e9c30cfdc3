"""What this machine's person has allowed: commands, addresses and functions that a repository asks for.

A repository comes from somewhere else, so nothing in it runs until its exact content was allowed once, here. What was
allowed is kept outside of every repository, per workspace: `$XDG_STATE_HOME/moot/allowed/<workspace>`, a line for each,
the digest of the content and the handler's name. Whoever changes a word of a handler asks anew, and so does whoever
changes a file of the repository that it names: its script, or the module of its function. What those load in turn is
not looked at.
"""

from __future__ import annotations

import hashlib  # noqa: TID253 (this module itself is loaded on demand)
import os

from moot.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from moot.core.handler import Handler


class Consent:
    """`workspace` is the id of the log; its place counts too, so that a copy from elsewhere inherits nothing."""

    def __init__(self, env: Mapping[str, str], workspace: str, state: str, root: str) -> None:
        self._root = os.path.realpath(root)  # where its commands run
        named = hashlib.sha256(f"{workspace}\n{os.path.realpath(state)}".encode()).hexdigest()[:32]
        self.path = os.path.join(_home(env), "moot", "allowed", named)

    def allows(self, handler: Handler) -> bool:
        return not handler.foreign or self._digest(handler) in self._known()

    def give(self, handlers: Iterable[Handler]) -> None:
        known = self._known()
        self._keep({**known, **{self._digest(handler): handler.name for handler in handlers}})

    def take_back(self, handlers: Iterable[Handler]) -> None:
        gone = {handler.name for handler in handlers}
        self._keep({found: name for found, name in self._known().items() if name not in gone})

    def _digest(self, handler: Handler) -> str:
        """Of what is said, and of the files in the repository that are named there."""
        whole = hashlib.sha256(handler.content.encode())
        for name in named_files(handler):
            path = os.path.realpath(os.path.join(self._root, name))
            if path.startswith(f"{self._root}{os.sep}") and os.path.isfile(path):
                whole.update(f"\n{name} {_content(path)}".encode())
        return whole.hexdigest()

    def _known(self) -> dict[str, str]:
        try:
            with open(self.path, encoding="ascii") as file:
                rows = [line.split() for line in file]
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise self._unavailable(error) from error
        return {row[0]: row[1] for row in rows if len(row) == 2}

    def _keep(self, known: Mapping[str, str]) -> None:
        draft = f"{self.path}.{os.urandom(6).hex()}"
        try:
            os.makedirs(os.path.dirname(self.path), 0o700, exist_ok=True)
            with open(draft, "x", encoding="ascii", opener=_private) as file:
                file.writelines(f"{found} {name}\n" for found, name in known.items())
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> Unavailable:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        return Unavailable(
            "consent_unusable",
            f"What was allowed cannot be read or written: {why} ({self.path}).",
            "Make the file readable and writable for you alone, or remove it and allow again.",
        )


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def named_files(handler: Handler) -> list[str]:
    """What may be a file of the repository: the words of a command, or the module of a function."""
    if handler.python is None:
        return list(handler.run)
    module = handler.python.partition(":")[0].replace(".", os.sep)
    return [f"{module}.py", os.path.join(module, "__init__.py")]


def _home(env: Mapping[str, str]) -> str:
    named = env.get("XDG_STATE_HOME") or ""
    if os.path.isabs(named):
        return named
    home = env.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".local", "state")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
