"""The lines of nodes far down in a file."""

from __future__ import annotations

from moot.packs.ruby.syntax import first_line, last_line, parse, walk


def test_lines_beyond_the_first_hundreds_can_be_asked_for_again_and_again() -> None:
    source = parse(b"class A\n" + b"".join(b"  x = %d\n" % number for number in range(2000)) + b"end\n")
    for _ in range(20):
        assigned = [node for node in walk(source.root) if node.type == "assignment"]
        assert [first_line(node) for node in assigned] == list(range(2, 2002))
        assert [last_line(node) for node in assigned] == list(range(2, 2002))
