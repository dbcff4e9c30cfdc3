"""Where what goes wrong below leaves moot in a Python program: as an error of moot, never as a raw `OSError`."""

from __future__ import annotations

from moot.core.errors import MootError, Unavailable
from moot.private_files import forbidden, is_exhausted, too_many_open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import TypeVar

    T = TypeVar("T")


class PythonEdge:
    """Used as `with EDGE:` around whatever touches the workspace."""

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
    """What comes, one by one, each from behind the edge."""
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
        f"The system refused what moot needs here: {what}.",
        "Look at the disk, its room and the rights of that file, then do it again. Nothing acknowledged is lost.",
    )
