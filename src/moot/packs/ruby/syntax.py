"""Parsing Ruby with tree-sitter: bytes in, a tree with the places of syntax errors out.

The only module that imports tree-sitter. The other modules of this package walk its nodes; the rest of moot sees only
the records that they return. Nothing here raises for bad Ruby: a file with syntax errors still has a tree.
"""

from __future__ import annotations

import sys

from moot.core.errors import Refused, Unavailable
from moot.core.record import Record
from moot.core.text import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node, Parser, Tree

LARGEST = 8 * 1024 * 1024  # bytes; the largest file of Ruby's own libraries has less than 1 MB
SECONDS = 10.0  # of processor time for one file: error recovery takes quadratic time on some hostile input
_CHUNK = 4096
_HARMLESS = 16 * 1024  # bytes; no file of this size takes long
_PROBLEMS = 50  # listed per file

_languages: list[Language] = []


class SyntaxProblem(Record):
    """A syntax error."""

    line: int
    column: int
    message: str


class RubySource(Record):
    """One parsed file. Offsets refer to `data`, so that a cut and a replacement keep all other bytes."""

    data: bytes
    root: Node
    problems: tuple[SyntaxProblem, ...]

    def __repr__(self) -> str:
        return f"RubySource({len(self.data)} bytes, {len(self.problems)} problems)"


def parse(data: bytes) -> RubySource:
    """Parse a file. Empty files, CRLF line ends, a byte order mark and text after `__END__` are ordinary input."""
    if len(data) > LARGEST:
        raise Refused(
            "ruby_too_large",
            f"The Ruby file has {len(data):,} bytes; at most {LARGEST:,} are parsed.",
            "Split the file, or leave it out.",
        )
    if b"\0" in data:
        raise Refused(
            "ruby_binary",
            f"The file is not Ruby source: it has a NUL byte at offset {data.index(0)}.",
            "Name a text file with Ruby source.",
        )
    root = _tree(data)
    return RubySource(data=data, root=root, problems=tuple(_problems(root)) if root.has_error else ())


def _parser() -> Parser:
    """A parser of its own for each file: a parser must not be used by two threads, and a new one costs nothing."""
    try:
        from tree_sitter import Language, Parser
        from tree_sitter_ruby import language
    except ImportError as missing:
        raise Unavailable(
            "rspec_extra_missing",
            f"Ruby cannot be parsed: {missing.name} is not installed.",
            f"Run: {shell_word(sys.executable, 'python3')} -m pip install tree-sitter tree-sitter-ruby PyYAML",
        ) from missing
    if not _languages:
        _languages.append(Language(language()))
    return Parser(_languages[0])


def _tree(data: bytes) -> Node:
    if len(data) <= _HARMLESS:
        return _parser().parse(data).root_node
    return _parser().parse(data, _tried(data)).root_node


def _tried(data: bytes) -> Tree:
    """The tree, parsed under a time limit.

    tree-sitter has no time limit in Python, but it reads in chunks: a reader that reports the end of the file makes it
    stop. A node of such a tree would read the chunks again for its text, so the caller parses the bytes once more,
    which reuses this tree.
    """
    from time import thread_time

    end = thread_time() + SECONDS
    stopped = False

    def read(offset: int, _point: object) -> bytes:
        nonlocal stopped
        stopped = stopped or thread_time() > end
        return b"" if stopped else data[offset : offset + _CHUNK]

    tree = _parser().parse(read)
    if stopped:
        raise Refused(
            "ruby_too_complex",
            f"The Ruby file could not be parsed within {SECONDS:g} s.",
            "Correct its syntax errors, or leave it out.",
        )
    return tree


def _problems(root: Node) -> Iterator[SyntaxProblem]:
    """The errors and the missing tokens, in the order of the file."""
    found = 0
    stack = [root]
    while stack and found < _PROBLEMS:
        node = stack.pop()
        if node.is_error or node.is_missing:
            found += 1
            yield _problem(node)
        if node.has_error:
            stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)


def _problem(node: Node) -> SyntaxProblem:
    if node.is_missing:
        message = f"`{node.type}` is missing"
    else:
        words = text(node).split()
        message = f"syntax error near `{' '.join(words[:4])[:40]}`" if words else "syntax error"
    return SyntaxProblem(line=first_line(node), column=node.start_point[1] + 1, message=message)


def text(node: Node) -> str:
    """The node's source. Bytes that are not UTF-8 become U+FFFD."""
    return (node.text or b"").decode("utf-8", "replace")


def first_line(node: Node) -> int:
    return node.start_point[0] + 1  # not `.row`: tree-sitter 0.26.0 returns that without a reference, and then crashes


def last_line(node: Node) -> int:
    """The last line that has a byte of the node: some nodes end with a line break."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1


def walk(root: Node, skip: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The named nodes below `root`, parents first, without the subtrees of the types in `skip`.

    Iterative, because source from a repository can be nested more deeply than Python's stack.
    """
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in reversed(node.named_children) if child.type not in skip)


def words_of(data: bytes, start: int, end: int) -> list[str]:
    """What a part of a file says, without its spaces, and with every string as its value: the same code, another style.

    Nodes count with their types, so that `return` before a line and on the same line are different.
    """
    found: list[str] = []
    stack = [parse(data).root]
    while stack:
        node = stack.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        value = literal_text(node)
        if value is not None:
            found.append(f"{'text' if node.type == 'string' else node.type}: {value}")
        elif node.child_count:
            found.append(node.type)
            stack.extend(reversed(node.children))
        else:
            found.append(text(node))
    return found


def constant_name(node: Node) -> str | None:
    """`A::B` for a constant or a path of constants; None for anything computed. A leading `::` is kept."""
    names: list[str] = []
    while node.type == "scope_resolution":
        name, scope = node.child_by_field_name("name"), node.child_by_field_name("scope")
        if name is None or name.type != "constant":
            return None
        names.append(text(name))
        if scope is None:
            names.append("")
            break
        node = scope
    else:
        if node.type != "constant":
            return None
        names.append(text(node))
    return "::".join(reversed(names))


def literal_text(node: Node) -> str | None:
    """The value of a symbol or a string literal; None where it is computed."""
    kind = node.type
    if kind == "simple_symbol":
        return text(node)[1:]
    if kind in {"hash_key_symbol", "bare_symbol", "bare_string", "string", "delimited_symbol"}:
        if kind == "hash_key_symbol":
            return text(node)
        return _string_value(node)
    if kind == "chained_string":
        parts = [literal_text(part) for part in node.named_children]
        return None if None in parts else "".join(part for part in parts if part is not None)
    return None


_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "s": " ",
    "r": "\r",
    "e": "\x1b",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\n": "",
}


_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def _string_value(node: Node) -> str | None:
    parts = []
    limits = _limits_of_raw(text(node))
    for part in node.named_children:
        if part.type == "string_content":
            parts.append(_raw(text(part), limits) if limits else text(part))
        elif part.type == "escape_sequence":
            parts.append(_unescape(text(part)[1:]))
        else:
            return None
    return "".join(parts)


def _limits_of_raw(source: str) -> str:
    """The delimiters of a literal in which only they and the backslash can be escaped; empty for other literals."""
    if source.startswith(("'", ":'")):
        return "'"
    if source.startswith(("%q", "%s")):
        opening = source[2:3]
        return opening + _CLOSING.get(opening, "")
    return ""


def _raw(content: str, limits: str) -> str:
    pieces = content.split("\\\\")
    for limit in limits:
        pieces = [piece.replace(f"\\{limit}", limit) for piece in pieces]
    return "\\".join(pieces)


def _unescape(body: str) -> str:
    if body[:1] in {"u", "x"}:
        try:
            return "".join(chr(int(one, 16)) for one in body[1:].strip("{}").split())
        except (ValueError, OverflowError):
            return body
    if body[:1] in "01234567" and body:
        return chr(int(body, 8))
    return _ESCAPES.get(body, body)
