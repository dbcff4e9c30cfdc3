"""Text that a caller names by its file, or passes on standard input."""

from __future__ import annotations

import os
import stat
import sys

from moot.core.errors import Usage

_REMEDY = "Name a text file in UTF-8."


def read(path: str, cwd: str, limit: int, remedy: str = _REMEDY) -> str:
    """The text of a file, or of standard input (`-`). It must be UTF-8 without NUL, and at most `limit` bytes."""
    name = "standard input" if path == "-" else path
    raw = _standard_input(limit, remedy) if path == "-" else _bytes_of(path, cwd, limit, remedy)
    if len(raw) > limit:
        raise Usage(
            "file_too_large",
            f"{name} has more than {limit:,} bytes.",
            f"Use a smaller file. {remedy}",
            file=path,
            limit=limit,
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"{name} is not valid UTF-8 (line {line}).", remedy) from None
    if "\0" in text:
        raise _unreadable(
            path, f"{name} has a NUL character (line {text[: text.index(chr(0))].count(chr(10)) + 1}).", remedy
        )
    return text


def _standard_input(limit: int, remedy: str) -> bytes:
    if getattr(sys, "stdin", None) is None:
        raise _unreadable("-", "Standard input is closed.", remedy)
    return sys.stdin.buffer.read(limit + 1)


def _bytes_of(path: str, cwd: str, limit: int, remedy: str) -> bytes:
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its writer.
        descriptor = os.open(os.path.join(cwd, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _unreadable(path, f"{path} is not a regular file.", remedy)
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise _unreadable(
            path, f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.", remedy
        ) from None


def _unreadable(path: str, message: str, remedy: str) -> Usage:
    return Usage("unreadable_file", message, remedy, file=path)
