"""Paths of a repository, and patterns over them that can be compared: do these two share a path?

    src/api.py       that path, and nothing below it should it be a directory
    src/api/         the directory and all below, the same as src/api/**
    ?  *             one character, any number of them, within a segment
    [a-z] [!a-z]     one character of a class, or one outside of it (`^` is as good as `!`), never a slash
    **               as a whole segment: any number of segments, also none (src/** holds src)

A path that begins with a tilde is written `./~/notes`: without the dot a shell, and its reader, takes it for a home.

There is no escape character, and a backslash is refused; a class of one says it: `[[]`, `[*]`, `[?]`. So the file
`pages/[id].tsx` is claimed as `pages/[[]id].tsx`; `escape` writes that. Dots at the start of a name are like any other.

Whether two patterns meet is decided exactly and without search. A star takes anything, so two sequences that both
have one meet if their heads (up to the first star) and their tails (past the last) agree: between them, put what one
needs and then what the other needs. A sequence without a star has a fixed length, and the parts of the other are
placed along it, each at the first place where it fits. The same holds for the characters of a segment (`*`) and for
the segments of a path (`**`). Both ways yield a path that both match: the witness.

Characters are code points of the NFC form. With `fold`, characters that differ in case only are the same one.
Nothing in here looks at a file system: symlinks and absolute paths are dealt with before.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.paths.glob_overlap import ANY_CHAR, ANY_NAME, CLASS_LIMIT, NO_NAMES, STAR, common_name, common_sequence
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.core.paths.glob_overlap import Atom, Segment

HERE = "./"  # what a path begins with that would be taken for a home
PATH_LIMIT = 4096
PATTERN_LIMIT = 1024
SEGMENT_LIMIT = 64
WILDCARD_LIMIT = 32
_NO_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of a pair, line separators


class Pattern(Record):
    """A canonical pattern, ready to be compared with others that were read with the same `fold`."""

    text: str
    literal: str | None  # the one path that it matches, if it has no wildcard
    head: str  # what its paths begin with; `src/` for src/**, though that holds src as well
    tail: str  # what they end with
    segments: tuple[Segment, ...]


def canonical(path: str) -> str:
    """The one way to write a path. Drops `.` and empty segments; refuses what is not inside the repository."""
    segments = _segments(path)
    if not segments:
        raise Refused("path_malformed", f"{_shown(path)} names no file.", "Name a path below the repository's root.")
    return _written(segments)


def canonical_pattern(text: str) -> str:
    """The one way to write a pattern, which is then known to be well formed and cheap to compare."""
    segments = _segments(text)
    if text.endswith("/"):
        segments.append("**")
    segments = [s for i, s in enumerate(segments) if s != "**" or i == 0 or segments[i - 1] != "**"]
    if not segments:
        raise Refused("path_malformed", f"{_shown(text)} names no file.", "Name a path; `**` is the whole repository.")
    pattern = _written(segments)
    if is_glob(pattern):
        _check_size(pattern, segments)
    return pattern


def lenient_pattern(text: str) -> str:
    """The same for somebody who asks about a path: what is no pattern can still be the name of a file."""
    try:
        return canonical_pattern(text)
    except Refused:
        return escape(canonical(text))


def escape(path: str, special: str = "*?[") -> str:
    """The pattern that matches exactly this path; or, with fewer characters named, takes only these literally."""
    return "".join(f"[{char}]" if char in special else char for char in path) if is_glob(path) else path


def unescape(pattern: str) -> str:
    """The text that `escape` made a pattern of, and any other text as good as unchanged: what one would have typed."""
    return pattern.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[")


def is_glob(text: str) -> bool:
    """Whether a pattern is written with wildcards or classes; without, it is a plain path."""
    return "*" in text or "?" in text or "[" in text


def spellings(pattern: str, *, fold: bool = False) -> set[str]:
    """How somebody may have typed it: with or without escapes, a directory with or without what means all below."""
    texts = (text.removesuffix("/**") for text in (pattern, unescape(pattern)))
    return set(map(_folded, texts) if fold else texts)


def exactly(path: str, *, fold: bool = False) -> Pattern:
    """A canonical path as a pattern; nothing in it is a wildcard."""
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
    """A canonical pattern, read. Who has many pairs to compare reads each pattern once."""
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
        raise Refused(
            "path_malformed",
            f"{_shown(text)} is longer than {PATH_LIMIT} characters.",
            "Shorten it.",
            path=_storable(text),
        )
    if text.startswith("/"):
        raise Refused(
            "path_absolute",
            f"{_shown(text)} is absolute.",
            "Write it from the root of the repository: src/api.py.",
            path=_storable(text),
        )
    if "\\" in text:
        raise Refused(
            "path_malformed",
            f"{_shown(text)} has a backslash.",
            "Separate with `/`; a literal `*` is written `[*]`.",
            path=_storable(text),
        )
    if not all(map(_legal, () if text.isascii() and text.isprintable() else text)):
        raise Refused(
            "path_malformed",
            f"{_shown(text)} has a control character.",
            "Rename the file, or claim its directory.",
            path=_storable(text),
        )
    segments = [segment for segment in text.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise Refused(
            "path_outside",
            f"{_shown(text)} climbs with `..`.",
            "Write it from the root of the repository, without `..`.",
            path=_storable(text),
        )
    return segments


def _written(segments: Sequence[str]) -> str:
    path = "/".join(segments)
    return HERE + path if path.startswith("~") else path


def _legal(char: str) -> bool:
    """Whether a path may have this character, the slash apart."""
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
        raise Refused(
            "pattern_too_complex",
            f"{_shown(pattern)} is over {limits}.",
            "Use a wider and simpler pattern, or several.",
            path=_storable(pattern),
        )


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
        raise _malformed(text, "has `**` beside other things", "Write `*`, or `**` alone between slashes.")
    literal = [atom for atom in atoms if isinstance(atom, str)]
    if len(literal) < len(atoms):
        return tuple(atoms)
    if (name := "".join(literal)) in NO_NAMES:
        raise _malformed(text, "can only mean a directory itself or the one above", "Leave it out.")
    return name


def _class(text: str, at: int, fold: bool) -> tuple[Atom, int]:  # noqa: FBT001
    """The class whose bracket opened before `at`, and where it ends. A class of one is that character."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    end = text.find("]", at + 1)
    body = text[at:end]
    if end < 0:
        raise _malformed(text, "has a `[` that is not closed", "Write `[[]` for a literal one.")
    if "[:" in body:
        raise _malformed(text, "names a class, which is not known here", "Write the range, as in `[a-z]`.")
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
            raise _malformed(text, wrong, "Turn it around, or write `[[]` for a literal `[`.")
        if ord(last) - ord(first) + len(members) >= CLASS_LIMIT:
            raise Refused(
                "pattern_too_complex",
                f"{_shown(text)} has a class of over {CLASS_LIMIT} characters.",
                "Use `?` instead.",
                path=_storable(text),
            )
        members.update(map(chr, range(ord(first), ord(last) + 1)))
    return members


def _folded(text: str) -> str:
    """The text without its case, character by character: `ß` stays one and equals `ẞ`, not `ss`."""
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
    """The one path that it matches, in its own case where that is known."""
    if pattern.literal is None:
        return None
    return _written([pattern.literal]) if is_glob(pattern.text) else pattern.text


def _shown(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:120] + "…")


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _malformed(text: str, wrong: str, remedy: str) -> Refused:
    return Refused("pattern_malformed", f"{_shown(text)} {wrong}.", remedy, path=_storable(text))
