"""A workspace without a log: the error. It names a log that `git init` left behind, and how to go on with it.

A plain folder keeps its log in `.moot`. Once it is a git repository, its log belongs in the git directory.
"""

from __future__ import annotations

import os

from moot.core.errors import Refused
from moot.core.text import shell_word
from moot.logs.sqlite import faults
from moot.logs.sqlite.file import NAME
from moot.place.private_files import forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.core.errors import Unavailable
    from moot.place import Place


def no_log(place: Place, start: str) -> Unavailable:
    """The error; it names a log that was left behind."""
    path = os.path.join(place.state, NAME)
    try:
        os.lstat(path)
    except PermissionError as problem:  # unknown whether there is one
        return forbidden(problem) or faults.of_system(problem, place.state)
    except OSError:
        pass
    error, left = faults.missing(path), find(place, start)
    if left is None:
        return error
    said = f"{error.message} But {left} is the log of this folder from before it was a git repository."
    return type(error)(error.code, said, _goes_on(place, left), path=path, left_behind=left)


def check_nothing_left(place: Place, start: str) -> None:
    """Refuse to create a new log if one was left behind."""
    left = find(place, start)
    if left is not None and not os.path.lexists(os.path.join(place.state, NAME)):
        raise Refused(
            "log_left_behind",
            f"{left} is the log of this folder from before it was a git repository; a new one would hide it.",
            f"{_goes_on(place, left)} To start with an empty log, move `.moot` away.",
            left_behind=left,
        )


def find(place: Place, start: str) -> str | None:
    """The log of a plain workspace in which, or above which, `git init` was run; None if there is none."""
    if place.common is None:
        return None
    for folder in _folders(place, start):
        path = os.path.join(folder, ".moot", NAME)
        if os.path.isfile(path) and not os.path.islink(path):
            return path
    return None


def _folders(place: Place, start: str) -> Iterator[str]:
    here = os.path.realpath(start)
    while here.startswith(f"{place.root.rstrip('/')}/"):
        yield here
        here = os.path.dirname(here)
    if place.main_root is not None:
        yield place.main_root


def _goes_on(place: Place, left: str) -> str:
    old, new = (shell_word(path, "DIR") for path in (os.path.dirname(left), place.state))
    below = (
        "" if os.path.dirname(os.path.dirname(left)) == place.main_root else " Its paths are relative to that folder."
    )
    return f"To go on with it, end what uses it, and run `mkdir -p -m 700 {new} && mv {old}/* {new}/`.{below}"
