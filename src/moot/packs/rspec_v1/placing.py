"""Puts the skeleton of a method into its spec file: a new one, or beside the tests that are there already.

Nothing of an existing file is overwritten unless that was asked for. Bytes outside of the change stay as they are.
"""

from __future__ import annotations

from moot.packs.rspec_v1.method_block import header_of
from moot.packs.rspec_v1.skeleton import class_group, file_of, string
from moot.packs.ruby.spec_tree import parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.packs.rspec_v1.skeleton import Skeleton
    from moot.packs.ruby.spec_tree import Group, SpecFile

OVERWRITE, APPEND, CANCEL = "overwrite", "append", "cancel"
CHOICES = (OVERWRITE, APPEND, CANCEL)
_EARLIER = " (earlier)"


class CannotPlace(Exception):
    """The skeleton cannot be put into the file without an answer. `asks`: the answer may be one of CHOICES."""

    def __init__(self, message: str, *, asks: bool, line: int = 0) -> None:
        super().__init__(message)
        self.asks = asks
        self.line = line


def placed(
    document: Mapping[str, Any],
    block: Skeleton,
    existing: bytes | None,
    *,
    helper: str | None = None,
    choice: str = "",
    foreign: str = "",
) -> bytes:
    """The content of the spec file with the block. Raises `CannotPlace`.

    `foreign`: the other source that the file belongs to. `choice`: what to do if the file already has the block, or is
    foreign: overwrite it, or append. An earlier block that is kept gets another name.
    """
    if existing is None or not existing.strip():
        return file_of(document, block, helper).encode()
    spec = parse_spec(existing)
    if spec.problems:
        first = spec.problems[0]
        raise CannotPlace(f"it is not valid Ruby: {first.message}", asks=False, line=first.line)
    if foreign and choice != APPEND:
        if choice == OVERWRITE:
            return file_of(document, block, helper).encode()
        raise CannotPlace(f"it belongs to {foreign}", asks=True)
    name, header = str(document["target"]["class"]).removeprefix("::"), header_of(document["target"])
    tops = [one for one in spec.groups if (one.constant or "").removeprefix("::") == name]
    old = [one for top in tops for one in top.groups if one.text == header]
    if not old:
        return _added(spec, tops, document, block)
    if existing[old[0].start : old[0].end] == _block(existing, old[0], block):
        return existing
    if choice == OVERWRITE and len(old) == 1:
        new = _block(existing, old[0], block)
        return existing[: old[0].start] + new + existing[old[0].end :]
    if choice == APPEND and len(old) == 1:
        return _appended(existing, old[0], header, tops[-1], document, block)
    raise CannotPlace(f"it already has the block `describe '{header}'`", asks=True, line=old[0].line)


def _added(spec: SpecFile, tops: list[Group], document: Mapping[str, Any], block: Skeleton) -> bytes:
    data = spec.data
    if not tops:
        gap = b"" if data.endswith(b"\n") else b"\n"
        return data + _ends(data, gap + b"\n" + class_group(document, block).encode())
    top = tops[-1]
    at = data.rfind(b"\n", 0, top.end) + 1
    if data[at : top.end].strip() != b"end":  # the group is on one line, or ends unusually
        return data + _ends(data, b"\n" + class_group(document, block).encode())
    text = block.indented(_column(data, top.start) + 2).encode()
    return data[:at] + _ends(data, b"\n" + text) + data[at:]


def _appended(data: bytes, old: Group, header: str, top: Group, document: Mapping[str, Any], block: Skeleton) -> bytes:
    """Keep the earlier block under another name, and add the new one."""
    head = data[old.start : old.body_start]
    for written in (string(header), f'"{header}"'):
        if written.encode() in head:
            renamed = head.replace(written.encode(), string(f"{header}{_EARLIER}").encode(), 1)
            data = data[: old.start] + renamed + data[old.body_start :]
            break
    else:
        raise CannotPlace("the text of its block is not a plain string", asks=False, line=old.line)
    spec = parse_spec(data)
    tops = [one for one in spec.groups if one.start == top.start]
    return _added(spec, tops, document, block)


def _block(data: bytes, old: Group, block: Skeleton) -> bytes:
    """The block as it would stand in place of the old one."""
    text = block.indented(_column(data, old.start)).encode().strip()
    return _ends(data, text)


def _column(data: bytes, start: int) -> int:
    line = data[data.rfind(b"\n", 0, start) + 1 : start]
    return len(line) - len(line.lstrip())


def _ends(data: bytes, text: bytes) -> bytes:
    """The text with the line ends of the file."""
    return text.replace(b"\n", b"\r\n") if b"\r\n" in data else text
