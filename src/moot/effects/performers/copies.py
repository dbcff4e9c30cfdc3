"""Private copies of the files that a command names, so that it runs the allowed bytes even if the files change.

Each run gets new copies, in a directory outside the workspace that only this account can enter.
"""

from __future__ import annotations

import os
import tempfile  # noqa: TID253 (this module itself is loaded on demand)
from contextlib import contextmanager

from moot.core.errors import Unavailable
from moot.engine.sweeping import RUN, sweep_rooms
from moot.location import user_state
from moot.private_files import outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.effects.pinned import PinnedFile, PinnedHandler

_NO_EXECUTION = getattr(os, "ST_NOEXEC", 8)


@contextmanager
def copies(pinned: PinnedHandler, env: Mapping[str, str]) -> Iterator[dict[int, str]]:
    """The words of the command that name a file, changed to name its copy."""
    named = [file for file in pinned.files if not file.text]
    if not named:
        yield {}
        return
    place = _place(pinned.roots, env)
    with tempfile.TemporaryDirectory(prefix=RUN, dir=place, ignore_cleanup_errors=True) as room:
        yield {file.word: f"{file.before}{_made(room, file)}" for file in named}


def _made(room: str, file: PinnedFile) -> str:
    path = os.path.join(room, str(file.word), os.path.basename(file.path))
    os.mkdir(os.path.dirname(path), 0o700)
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(made, "wb") as stream:
        stream.write(file.content)
        os.fchmod(made, file.mode & 0o755 | 0o400)
    return path


def _place(roots: tuple[str, ...], env: Mapping[str, str]) -> str:
    """The directory for temporary files; another one if that is in the workspace or does not allow execution."""
    place = os.path.realpath(env.get("TMPDIR") or tempfile.gettempdir())
    try:
        user_state.check_way(place)
        if outside(place, *roots) and not os.statvfs(place).f_flag & _NO_EXECUTION:
            return place
    except (OSError, Unavailable):
        pass  # it does not exist, or others can write to it
    place = os.path.join(user_state.home(env), "run")
    os.makedirs(place, 0o700, exist_ok=True)
    user_state.check_way(place)
    sweep_rooms(place)
    return place
