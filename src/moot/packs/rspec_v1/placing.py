"""Puts the skeleton of a method into its spec file: a new one, or beside the tests that are there already.

Nothing of an existing file is overwritten unless that was asked for. Bytes outside of the change stay as they are.
"""

from __future__ import annotations

from moot.packs.rspec_v1.method_block import header_of
from moot.packs.rspec_v1.skeleton import class_group, file_of
from moot.packs.ruby.spec_tree import parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

    from moot.packs.rspec_v1.skeleton import Skeleton
    from moot.packs.ruby.spec_tree import Group, SpecFile


class CannotPlace(Exception):
    """The skeleton cannot be put into the file. `theirs`: the block there is not moot's."""

    def __init__(self, message: str, *, line: int, theirs: bool = False) -> None:
        super().__init__(message)
        self.line, self.theirs = line, theirs


def placed(
    document: Mapping[str, Any],
    block: Skeleton,
    existing: bytes | None,
    *,
    own: Container[bytes] | None = (),
    helper: str | None = None,
) -> bytes:
    """The content of the spec file with the block. Raises `CannotPlace`.

    `own`: the texts of blocks that moot may replace; None: all.
    """
    if existing is None or not existing.strip():
        return file_of(document, block, helper).encode()
    spec = parse_spec(existing)
    if spec.problems:
        first = spec.problems[0]
        raise CannotPlace(f"it is not valid Ruby: {first.message}", line=first.line)
    name, header = str(document["target"]["class"]).removeprefix("::"), header_of(document["target"])
    tops = [one for one in spec.groups if (one.constant or "").removeprefix("::") == name]
    old = [one for top in tops for one in top.groups if one.text == header]
    if not old:
        return _added(spec, tops, document, block)
    text, new = existing[old[0].start : old[0].end], _block(existing, old[0], block)
    if text == new:
        return existing
    if len(old) > 1 or (own is not None and text not in own):
        why = "moot did not write it, or somebody edited it since" if len(old) == 1 else "it is there twice"
        raise CannotPlace(
            f"it already has the block `describe '{header}'`: {why}", line=old[0].line, theirs=len(old) == 1
        )
    return existing[: old[0].start] + new + existing[old[0].end :]


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
