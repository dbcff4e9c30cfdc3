"""YAML in a protocol's files: read strictly, written so that every reader finds the same values.

Readers of YAML 1.1 (Ruby's Psych, PyYAML) and of YAML 1.2 disagree about unquoted text. Here it is a number, a boolean
or null only where all of them agree. Everything else is text, character for character: `yes`, `012`, `1e3`, `0o14`,
`-.5`, `1_000`, `12:30:45`, `2024-01-01`. `dump` writes such text in quotes.

Refused, with line and column: tags, anchors and aliases, duplicate keys, merge keys, keys that are not text, several
documents, tabs outside texts, control characters, text that is not UTF-8, numbers that are not finite or too large,
very deep nesting, very long keys, and files over a size limit. Everything that `load` returns, `dump` can write.

The parser is libyaml through PyYAML, as a stream of events: nothing is built before it is checked, and no depth of
nesting ends in a recursion.

This module does not know what the values mean.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)
from contextlib import contextmanager

from moot.core.record import Record
from moot.core.strict_json import Torn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Place = tuple[int, int]

DEEPEST = 100
LARGEST = 4 * 1024 * 1024  # bytes
MOST = 100_000  # values
LONGEST = 2000  # characters in all keys from the outermost to one value: each value has a pointer
_BOM = b"\xef\xbb\xbf"
_KEY = 900  # characters; libyaml wants keys over 1024 marked by a question mark
_MERGE = "<<"
_INDENT = "  "

_NULL = re.compile(r"(?:null|Null|NULL|~)?")
_BOOLEAN = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")  # -.5 is text to PyYAML
_ENDLESS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_UNPRINTABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./+()-]*(?: [A-Za-z0-9_/+(][A-Za-z0-9_./+()-]*)*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nil", "nan", "inf"})
_SENTENCES = {
    "mapping values are not allowed in this context": (
        "a key cannot stand here; a text that contains a colon and a space needs quotes"
    ),
    "could not find expected ':'": "a key without its colon",
    "did not find expected key": "a key is missing, or a line has the wrong indentation",
    "did not find expected '-' indicator": "a list item is missing, or a line has the wrong indentation",
    "did not find expected ',' or ']'": "a list in brackets is not closed",
    "did not find expected ',' or '}'": "a mapping in braces is not closed",
    "did not find expected <document start>": "there is text after the end of the value",
    "did not find expected node content": "a value is missing",
    "found unexpected end of stream": "the text ends in the middle of a value",
    "found unknown escape character": "a text in double quotes has an unknown escape",
}


class TornYaml(Torn):
    """The bytes are not YAML that is read here, with the reason and the place."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


class Loaded(Record):
    """A value, and where everything in it stands: pointers (RFC 6901) to lines and columns, counted from 1."""

    value: Any
    places: Mapping[str, Place]


def load(data: bytes, largest: int = LARGEST) -> Any:
    """Parse `data`. Raises `TornYaml`."""
    return load_with_places(data, largest).value


def load_mapping(data: bytes, largest: int = LARGEST) -> dict[str, Any]:
    """Parse `data`, which must be a mapping. Raises `TornYaml`."""
    loaded = load_with_places(data, largest)
    if not isinstance(loaded.value, dict):
        raise TornYaml(f"expected a mapping, got {_kind(loaded.value)}", *loaded.places[""])
    return loaded.value


def load_with_places(data: bytes, largest: int = LARGEST) -> Loaded:
    """Parse `data`, and note the place of each key and item. Raises `TornYaml`."""
    text = _decode(data, largest)
    builder, scalars = _Builder(), list[tuple[int, int]]()
    for event in _events(text):
        builder.take(event)
        if type(event).__name__ == "ScalarEvent":
            scalars.append((event.start_mark.index, event.end_mark.index))
    if not builder.places:
        raise TornYaml("the file is empty", 1, 1)
    if "\t" in text:
        _refuse_tabs(text, scalars)
    return Loaded(builder.value, builder.places)


def dump(value: object, order: Mapping[str, Sequence[str]] | None = None, quoted: Sequence[str] = ()) -> bytes:
    """The format in which moot writes YAML files. Raises ValueError for values that `load` would refuse.

    order: the keys that come first in a mapping, by the pattern of its pointer; "" is the outermost one.
    quoted: patterns of pointers below which every text has quotes, whether it needs them or not.
    """
    lines = _Writer(order or {}, tuple(quoted)).lines(value)
    data = "\n".join((*lines, "")).encode()
    if len(data) > LARGEST:
        raise ValueError(f"the text is larger than {LARGEST} bytes")
    return data


def _decode(data: bytes, largest: int) -> str:
    if len(data) > largest:
        raise TornYaml(f"the text is larger than {largest} bytes", 1, 1)
    body = data.removeprefix(_BOM)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start].decode()
        raise TornYaml("the text is not UTF-8", *_place(before, len(before))) from None
    if found := _UNPRINTABLE.search(text):
        reason = f"the character U+{ord(found[0]):04X} must be written as an escape in double quotes"
        raise TornYaml(reason, *_place(text, found.start()))
    return text


def _place(text: str, at: int) -> Place:
    before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def load_texts(text: str, once: Sequence[str] = ()) -> Any:
    """Parse what people write: what PyYAML reads, each scalar as text (`01`, `yes`). Raises `TornYaml`.

    once: keys that may not stand twice in the outermost mapping. Of others, the last value counts.
    """
    import yaml

    depth = 0
    for event in _events(text):  # first: the loader below is recursive, and ends the process when the nesting is deep
        depth += _DEEPER.get(type(event).__name__, 0)
        if depth > DEEPEST:
            mark = event.start_mark
            raise TornYaml(f"the value is nested more than {DEEPEST} levels deep", mark.line + 1, mark.column + 1)
    with _reporting(text):
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)  # builds only texts
        root, names = loader.get_single_node(), []
        for key, _ in root.value if isinstance(root, yaml.MappingNode) else ():
            if key.value in names and key.value in once:
                raise TornYaml(f"the key {key.value} stands twice", key.start_mark.line + 1, key.start_mark.column + 1)
            names.append(key.value)
        return None if root is None else loader.construct_document(root)


_DEEPER = {"MappingStartEvent": 1, "SequenceStartEvent": 1, "MappingEndEvent": -1, "SequenceEndEvent": -1}


def _events(text: str) -> Iterator[Any]:
    import yaml

    with _reporting(text):
        yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@contextmanager
def _reporting(text: str) -> Iterator[None]:
    """Raise what the parser reports as `TornYaml`."""
    import yaml

    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise TornYaml(_sentence(text, error.problem or "", mark), line, column) from None
    except yaml.YAMLError as error:
        raise TornYaml(" ".join(str(error).split()), 1, 1) from None


def _sentence(text: str, problem: str, mark: Any) -> str:
    if problem.startswith("found character"):
        here = text[mark.index : mark.index + 1] if mark else ""
        if here == "\t":
            return "a tab stands where only spaces may; indent with spaces"
        return f"a text that starts with {here or 'this character'} needs quotes"
    return _SENTENCES.get(problem, problem or "it is not YAML")


def _refuse_tabs(text: str, scalars: list[tuple[int, int]]) -> None:
    """Refuse tabs outside texts and comments: some readers take them for spaces, others refuse them."""
    spot = 0
    for start, end in (*scalars, (len(text), len(text))):
        for line in re.finditer(r"[^\n]+", text[spot:start]):
            before, tab, _ = line[0].partition("\t")
            if tab and not re.search(r"(?:^|[\s\[\]{},])#", before):
                at = spot + line.start() + len(before)
                raise TornYaml("a tab stands where only spaces may", *_place(text, at))
        spot = max(spot, end)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a boolean"}
    return names.get(type(value), "a number")


class _Level:
    """A mapping or a list that is being built."""

    def __init__(self, into: dict[str, Any] | list[Any], at: str) -> None:
        self.into, self.at = into, at
        self.key: str | None = None  # of the value that comes next


class _Builder:
    """Builds a value from the events of the parser. See the module for what it refuses."""

    def __init__(self) -> None:
        self.value: Any = None
        self.places: dict[str, Place] = {}
        self._levels: list[_Level] = []
        self._left = MOST

    def take(self, event: Any) -> None:
        name, mark = type(event).__name__, event.start_mark
        place = (mark.line + 1, mark.column + 1)
        if name == "AliasEvent":
            raise TornYaml(f"the alias *{event.anchor} is not accepted; write the value again", *place)
        if getattr(event, "anchor", None) is not None:
            raise TornYaml(f"the anchor &{event.anchor} is not accepted", *place)
        if getattr(event, "tag", None) is not None:
            raise TornYaml(f"the tag {event.tag} is not accepted", *place)
        if name == "DocumentStartEvent":
            self._start(event, place)
        elif name == "ScalarEvent":
            self._scalar(event, place)
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            self._open({} if name == "MappingStartEvent" else [], place)
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self._levels.pop()

    def _start(self, event: Any, place: Place) -> None:
        if self.places:
            raise TornYaml("a second document starts; a file has only one", *place)
        if event.tags:
            raise TornYaml("%TAG is not accepted", *place)

    def _open(self, into: dict[str, Any] | list[Any], place: Place) -> None:
        if len(self._levels) >= DEEPEST:
            raise TornYaml(f"the value is nested more than {DEEPEST} levels deep", *place)
        if self._expects_key():
            raise TornYaml("a key must be text", *place)
        self._levels.append(_Level(into, self._put(into, place)))

    def _expects_key(self) -> bool:
        return bool(self._levels) and isinstance(self._levels[-1].into, dict) and self._levels[-1].key is None

    def _scalar(self, event: Any, place: Place) -> None:
        plain = event.implicit[0]
        value = _plain_value(event.value, place) if plain else event.value
        if not self._expects_key():
            self._put(value, place)
            return
        level = self._levels[-1]
        if not isinstance(value, str):
            raise TornYaml(f"a key must be text; put {event.value or 'it'} in quotes", *place)
        if value == _MERGE:
            raise TornYaml("the merge key << is not accepted", *place)
        if value in level.into:
            raise TornYaml(f"the key {value[:80]} stands twice in one mapping", *place)
        if len(level.at) + len(value) >= LONGEST:
            raise TornYaml(f"the keys down to this value have more than {LONGEST} characters", *place)
        level.key = value
        self.places[f"{level.at}/{_escaped(value)}"] = place

    def _put(self, value: Any, place: Place) -> str:
        """Add a value where it belongs. Returns its pointer."""
        self._left -= 1
        if self._left < 0:
            raise TornYaml(f"there are more than {MOST} values", *place)
        if not self._levels:
            self.value, self.places[""] = value, place
            return ""
        level = self._levels[-1]
        if isinstance(level.into, list):
            at = f"{level.at}/{len(level.into)}"
            level.into.append(value)
            self.places[at] = place
        else:
            assert level.key is not None
            at = f"{level.at}/{_escaped(level.key)}"
            level.into[level.key], level.key = value, None
        return at


def _plain_value(text: str, place: Place) -> Any:
    """The value of unquoted text."""
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        try:
            return int(text, 16) if text.startswith("0x") else int(text)
        except ValueError:
            raise TornYaml("a number is too large to be kept", *place) from None
    if _ENDLESS.fullmatch(text):
        raise TornYaml(f"{text} is not a finite number", *place)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise TornYaml("a number is too large to be kept", *place)
        return number
    return text


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class _Writer:
    """Writes values in block style."""

    def __init__(self, order: Mapping[str, Sequence[str]], quoted: Sequence[str]) -> None:
        self._order = {tuple(pattern.split("/")): list(names) for pattern, names in order.items()}
        self._quoted = [tuple(pattern.split("/")) for pattern in quoted]
        self._left = MOST

    def lines(self, value: object) -> list[str]:
        if isinstance(value, (dict, list, tuple)) and value:
            return self._block(value, ("",), quoted=self._quotes(("",)))
        return [self._scalar(value, quoted=self._quotes(("",)))]

    def _block(self, value: Any, at: tuple[str, ...], *, quoted: bool) -> list[str]:
        if len(at) > DEEPEST:
            raise ValueError(f"the value is nested more than {DEEPEST} levels deep")
        self._left -= len(value)
        if self._left <= 0:
            raise ValueError(f"there are more than {MOST} values")
        found: list[str] = []
        if isinstance(value, dict):
            for name in self._ordered(value, at):
                found += self._entry(name, value[name], (*at, _escaped(name)), quoted=quoted)
            return found
        for number, item in enumerate(value):
            below = (*at, str(number))
            if isinstance(item, (dict, list, tuple)) and item:
                inner = self._block(item, below, quoted=quoted or self._quotes(below))
                found += [f"- {inner[0]}", *(f"{_INDENT}{line}" for line in inner[1:])]
            else:
                found.append(f"- {self._scalar(item, quoted=quoted or self._quotes(below))}")
        return found

    def _entry(self, name: str, value: Any, at: tuple[str, ...], *, quoted: bool) -> list[str]:
        quoted = quoted or self._quotes(at)
        key = _text(name, quoted=False)
        *above, lead = [f"? {key}", ":"] if len(key) > _KEY else [f"{key}:"]
        if isinstance(value, (dict, list, tuple)) and value:
            return [*above, lead, *(f"{_INDENT}{line}" for line in self._block(value, at, quoted=quoted))]
        return [*above, f"{lead} {self._scalar(value, quoted=quoted)}"]

    def _ordered(self, value: Mapping[Any, Any], at: tuple[str, ...]) -> list[str]:
        for name in value:
            if not isinstance(name, str) or name == _MERGE:
                raise ValueError(f"{name!r} cannot be a key")
            if len("/".join(at)) + len(name) >= LONGEST:
                raise ValueError(f"the keys down to a value have more than {LONGEST} characters")
        first = next((names for pattern, names in self._order.items() if _fits(pattern, at)), [])
        ahead = [name for name in first if name in value]
        return [*ahead, *(name for name in value if name not in ahead)]

    def _quotes(self, at: tuple[str, ...]) -> bool:
        return any(_fits(pattern, at) for pattern in self._quoted)

    def _scalar(self, value: object, *, quoted: bool) -> str:
        match value:
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
            case float():
                return _float(value)
            case str():
                return _text(value, quoted=quoted)
            case dict():
                return "{}"
            case list() | tuple():
                return "[]"
        raise ValueError(f"YAML has no {type(value).__name__}")


def _fits(pattern: tuple[str, ...], at: tuple[str, ...]) -> bool:
    return len(pattern) == len(at) and all(name in ("*", here) for name, here in zip(pattern, at, strict=True))


def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 (NaN)
        raise ValueError("a number is not finite")
    digits, exponent, power = repr(value).partition("e")
    return f"{digits if '.' in digits or not exponent else f'{digits}.0'}{exponent}{power}"


def _text(value: str, *, quoted: bool) -> str:
    if not quoted and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    import json

    inside = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", inside)
