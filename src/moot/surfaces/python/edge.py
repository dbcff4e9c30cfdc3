"""Turns every failure into an error of moot before it reaches the Python program, never a raw `OSError`."""

from __future__ import annotations

from moot.core.errors import MootError, Unavailable
from moot.place.private_files import forbidden, is_exhausted, too_many_open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import TypeVar

    T = TypeVar("T")


class PythonEdge:
    """Used as `with EDGE:` around code that touches the workspace."""

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (MootError, OSError)) and not isinstance(error, BrokenPipeError):
            said = _said(error)
            if said is not error:
                raise said from error


EDGE = PythonEdge()


def edged(items: Iterator[T]) -> Iterator[T]:
    """The items of an iterator, each fetched inside the edge."""
    while True:
        with EDGE:
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _said(error: MootError | OSError) -> MootError:
    if is_exhausted(error):
        return (
            error if isinstance(error, Unavailable) and error.code == "too_many_open_files" else too_many_open_files()
        )
    if isinstance(error, MootError):
        return error
    refused = forbidden(error)
    if refused is not None:
        return refused
    what = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    return Unavailable(
        "system_refused",
        f"The operating system reported an error: {what}.",
        "Check the disk, its free space and the file permissions, then try again. No acknowledged command is lost.",
    )
