"""Paths of a repository, and patterns that can be compared: is there a path that two patterns both match?

    src/api.py       that path only; nothing below it, if it is a directory
    src/api/         the directory and everything below, the same as src/api/**
    ?  *             one character, any number of characters, within a segment
    [a-z] [!a-z]     one character of a class, or one that is not in it (`^` means the same as `!`); never a slash
    **               as a whole segment: any number of segments, including none (src/** matches src)

A path that starts with a tilde is written `./~/notes`. Without the dot, a shell takes it for a home directory.

There is no escape character, and a backslash is refused. A class with one character is literal: `[[]`, `[*]`, `[?]`. So
the file `pages/[id].tsx` is claimed as `pages/[[]id].tsx`, which `escape` writes. A dot at the start of a name is not
special.

Whether two patterns overlap is computed exactly and without backtracking. A star matches anything. So two sequences
that both have a star overlap if their heads (before the first star) and their tails (after the last) do: in between, a
path can have what the one needs, then what the other needs. A sequence without a star has a fixed length; the parts of
the other are placed along it, each at the first position where it fits. This works the same way for the characters of a
segment (`*`) and for the segments of a path (`**`). In both cases the result is a path that both match, the witness.

Characters are code points in NFC. With `fold`, characters that differ only in case are equal. This module does not use
the file system: callers resolve symbolic links and absolute paths first.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.paths.glob_overlap import ANY_CHAR, ANY_NAME, CLASS_LIMIT, NO_NAMES, STAR, common_name, common_sequence
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.core.paths.glob_overlap import Atom, Segment

HERE = "./"  # the prefix of a path that starts with a tilde
PATH_LIMIT = 4096
PATTERN_LIMIT = 1024
SEGMENT_LIMIT = 64
WILDCARD_LIMIT = 32
_NO_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of a pair, line separators


class Pattern(Record):
    """A canonical pattern, compiled. It can be compared with others that were compiled with the same `fold`."""

    text: str
    literal: str | None  # the only path that it matches, if it has no wildcard
    head: str  # the prefix of its paths; `src/` for src/**, although that also matches src
    tail: str  # their suffix
    segments: tuple[Segment, ...]


def canonical(path: str) -> str:
    """The canonical form of a path, without `.` and empty segments. Refuses paths outside the repository."""
    segments = _segments(path)
    if not segments:
        raise _malformed_path(path, "does not name a file", "Name a path below the repository's root.")
    return _written(segments)


def canonical_pattern(text: str) -> str:
    """The canonical form of a pattern. Refuses one that is malformed or too expensive to compare."""
    segments = _segments(text)
    if text.endswith("/"):
        segments.append("**")
    segments = [s for i, s in enumerate(segments) if s != "**" or i == 0 or segments[i - 1] != "**"]
    if not segments:
        raise _malformed_path(text, "does not name a file", "Name a path; `**` is the whole repository.")
    pattern = _written(segments)
    if is_glob(pattern):
        _check_size(pattern, segments)
    return pattern


def lenient_pattern(text: str) -> str:
    """The same for queries about a path: a text that is not a valid pattern can still be the name of a file."""
    try:
        return canonical_pattern(text)
    except Refused:
        return escape(canonical(text))


def escape(path: str, special: str = "*?[") -> str:
    """The pattern that matches exactly this path. `special`: the characters to take literally."""
    return "".join(f"[{char}]" if char in special else char for char in path) if is_glob(path) else path


def unescape(pattern: str) -> str:
    """The text from which `escape` made the pattern. Other patterns are returned almost unchanged."""
    return pattern.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[")


def as_typed(patterns: Iterable[str]) -> list[str]:
    """Patterns as people read them, each once: a path with brackets is claimed as two patterns."""
    return list(dict.fromkeys(map(unescape, patterns)))


def is_glob(text: str) -> bool:
    """Whether it has wildcards or classes. Otherwise it is a plain path."""
    return "*" in text or "?" in text or "[" in text


def spellings(pattern: str, *, fold: bool = False) -> set[str]:
    """The ways in which a user may have typed it: with or without escapes, a directory with or without `/**`."""
    texts = (text.removesuffix("/**") for text in (pattern, unescape(pattern)))
    return set(map(_folded, texts) if fold else texts)


def exactly(path: str, *, fold: bool = False) -> Pattern:
    """A canonical path as a pattern without wildcards."""
    bare = path.removeprefix(HERE)
    literal = _folded(bare) if fold else bare
    return Pattern(text=path, literal=literal, head=literal, tail=literal, segments=())


def literal(path: str, *, fold: bool = False) -> Pattern:
    """A file as the file system names it, with any characters: a claim on its directory holds it all the same."""
    if not path.isascii():
        from unicodedata import normalize

        path = normalize("NFC", path)
    name = _folded(path) if fold else path
    return Pattern(text=path, literal=name, head=name, tail=name, segments=())


def compiled(text: str, *, fold: bool = False) -> Pattern:
    """Compile a canonical pattern. To compare many pairs, compile each pattern once."""
    if not is_glob(text):
        return exactly(text, fold=fold)
    segments = tuple(_segment(segment, fold) for segment in text.removeprefix(HERE).split("/"))
    literals = [segment for segment in segments if isinstance(segment, str)]
    if len(literals) == len(segments):
        literal = "/".join(literals)
        return Pattern(text=text, literal=literal, head=literal, tail=literal, segments=())
    head, tail = _head(segments), _head([s and s[::-1] for s in reversed(segments)])[::-1]
    return Pattern(text=text, literal=None, head=head, tail=tail, segments=segments)


def meet(a: Pattern, b: Pattern) -> str | None:
    """A path that both match, or None."""
    if a.literal is not None and b.literal is not None:
        return _spelling(a) if a.literal == b.literal else None
    if not a.head.startswith(b.head) and not b.head.startswith(a.head):
        return None
    if not a.tail.endswith(b.tail) and not b.tail.endswith(a.tail):
        return None
    found = common_sequence(_parts(a), _parts(b), common_name, ANY_NAME)
    if found is None:
        return None
    return _spelling(a) or _spelling(b) or _written(found)


def _segments(text: str) -> list[str]:
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFC", text)
    if len(text) > PATH_LIMIT:
        raise _malformed_path(text, f"is longer than {PATH_LIMIT} characters", "Shorten it.")
    if text.startswith("/"):
        raise Refused(
            "path_absolute",
            f"{_shown(text)} is absolute.",
            "Write it from the root of the repository: src/api.py.",
            path=_storable(text),
        )
    if "\\" in text:
        raise _malformed_path(text, "has a backslash", "Use `/` as the separator; write `[*]` for a literal `*`.")
    if not all(map(_legal, () if text.isascii() and text.isprintable() else text)):
        raise _malformed_path(text, "has a control character", "Rename the file, or claim its directory.")
    segments = [segment for segment in text.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise Refused(
            "path_outside",
            f"{_shown(text)} contains `..`.",
            "Write it from the root of the repository, without `..`.",
            path=_storable(text),
        )
    return segments


def _written(segments: Sequence[str]) -> str:
    path = "/".join(segments)
    return HERE + path if path.startswith("~") else path


def _legal(char: str) -> bool:
    """Whether a path may contain this character. The slash is handled elsewhere."""
    if char.isascii():
        return char.isprintable() and char != "\\"
    from unicodedata import category

    return category(char) not in _NO_CATEGORIES


def _check_size(pattern: str, segments: list[str]) -> None:
    wild = 0
    if len(pattern) <= PATTERN_LIMIT and len(segments) <= SEGMENT_LIMIT:
        parsed = [_segment(segment, fold=False) for segment in segments]
        wild = sum(s is STAR or sum(not isinstance(atom, str) for atom in s) for s in parsed)
    if wild > WILDCARD_LIMIT or len(pattern) > PATTERN_LIMIT or len(segments) > SEGMENT_LIMIT:
        limits = f"{PATTERN_LIMIT} characters, {SEGMENT_LIMIT} segments or {WILDCARD_LIMIT} wildcards"
        raise _too_complex(pattern, f"is over {limits}", "Use a wider and simpler pattern, or several.")


def _segment(text: str, fold: bool) -> Segment:  # noqa: FBT001
    if text == "**":
        return STAR
    atoms: list[Atom] = []
    at = 0
    while at < len(text):
        char, at = text[at], at + 1
        if char == "*":
            atoms.append(STAR)
        elif char == "?":
            atoms.append(ANY_CHAR)
        elif char == "[":
            atom, at = _class(text, at, fold)
            atoms.append(atom)
        else:
            atoms.append(_folded(char) if fold else char)
    if any(atom is STAR and atoms[index] is STAR for index, atom in enumerate(atoms[1:])):
        raise _malformed(text, "has `**` next to other characters", "Write `*`, or `**` alone between slashes.")
    literal = [atom for atom in atoms if isinstance(atom, str)]
    if len(literal) < len(atoms):
        return tuple(atoms)
    if (name := "".join(literal)) in NO_NAMES:
        raise _malformed(text, "is the name of a directory itself or of the one above", "Leave it out.")
    return name


def _class(text: str, at: int, fold: bool) -> tuple[Atom, int]:  # noqa: FBT001
    """The class whose bracket opened before `at`, and where it ends. A class with one character is that character."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    end = text.find("]", at + 1)
    body = text[at:end]
    if end < 0:
        raise _malformed(text, "has a `[` that is not closed", "Write `[[]` for a literal one.")
    if "[:" in body:
        raise _malformed(text, "has a named class, which is not supported", "Write the range, such as `[a-z]`.")
    chars = {char for char in _class_members(text, body) if char != "/" and _legal(char)}
    if fold:
        chars = set(map(_folded, chars))
    return (chars.pop() if len(chars) == 1 and not negated else (negated, frozenset(chars))), end + 1


def _class_members(text: str, body: str) -> Iterable[str]:
    members: set[str] = set()
    at = 0
    while at < len(body):
        first = last = body[at]
        at += 1
        if body[at : at + 1] == "-" and at + 1 < len(body):
            last, at = body[at + 1], at + 2
        if last < first:
            wrong = f"has a range that runs backwards: {first}-{last}"
            raise _malformed(text, wrong, "Reverse it, or write `[[]` for a literal `[`.")
        if ord(last) - ord(first) + len(members) >= CLASS_LIMIT:
            raise _too_complex(text, f"has a class of over {CLASS_LIMIT} characters", "Use `?` instead.")
        members.update(map(chr, range(ord(first), ord(last) + 1)))
    return members


def _folded(text: str) -> str:
    """The text in folded case, character by character: `ß` equals `ẞ`, but not `ss`."""
    return text.lower() if text.isascii() else "".join(map(_folded_char, text))


def _folded_char(char: str) -> str:
    return next((folded for folded in (char.casefold(), char.lower()) if len(folded) == 1), char)


def _head(segments: Iterable[Segment]) -> str:
    """The characters up to the first wildcard."""
    head = ""
    for segment in segments:
        for atom in segment or (STAR,):
            if not isinstance(atom, str):
                return head
            head += atom
        head += "/"
    return head


def _parts(pattern: Pattern) -> Sequence[Segment]:
    return pattern.segments if pattern.literal is None else pattern.literal.split("/")


def _spelling(pattern: Pattern) -> str | None:
    """The only path that it matches, in its original case if known."""
    if pattern.literal is None:
        return None
    return _written([pattern.literal]) if is_glob(pattern.text) else pattern.text


def _shown(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:120] + "…")


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _malformed_path(text: str, wrong: str, remedy: str) -> Refused:
    return Refused("path_malformed", f"{_shown(text)} {wrong}.", remedy, path=_storable(text))


def _too_complex(text: str, wrong: str, remedy: str) -> Refused:
    return Refused("pattern_too_complex", f"{_shown(text)} {wrong}.", remedy, path=_storable(text))


def _malformed(text: str, wrong: str, remedy: str) -> Refused:
    return Refused("pattern_malformed", f"{_shown(text)} {wrong}.", remedy, path=_storable(text))
