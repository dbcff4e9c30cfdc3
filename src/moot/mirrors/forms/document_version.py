"""The version of a document in the first line of its YAML file, as a comment.

    # moot: version 1234 of notes...metadata.payment

An editor keeps the line. So moot knows which version an edit is based on, even if the file was written
again since the editor read it. A program that loads and dumps YAML drops the line; then the edit is taken to be based
on the last version that was written to the file. The number is the position of the document's last event in the log.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_START = b"# moot: version "
_OF = " of "
_LONGEST = 1000
_BOM = b"\xef\xbb\xbf"


class FileLeaves(dict[str, "Any"]):
    """The leaves in a file, and the version that it names; None if it names none."""

    version: dict[str, Any] | None = None


def stamped(body: bytes, document: str, version: int) -> bytes:
    return _START + f"{version}{_OF}{document}\n".encode() + body


def body_of(data: bytes) -> bytes:
    """The content without the line."""
    text = data.removeprefix(_BOM)
    return text.partition(b"\n")[2] if text.startswith(_START) else text


def version_of(data: bytes) -> dict[str, Any] | None:
    """The document and the version that the first line names."""
    start = data[:_LONGEST].removeprefix(_BOM)
    if not start.startswith(_START):
        return None
    line = start.partition(b"\n")[0].removeprefix(_START).decode("utf-8", "replace").strip()
    number, of, document = line.partition(_OF)
    if not of or not (number.isascii() and number.isdecimal()):
        return None
    return {"document": document, "version": int(number)}
