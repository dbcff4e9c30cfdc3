"""Text forms: one line of a protocol as data, and data as such a line.

    PICK #{order:int} shelves:[{shelves:names}]

A form is fixed text with fields in it. It begins with a word, by which a text is recognised.
- `int`: a whole number. It is read with and without a `#` before it, and written as in the form.
- `word`: one word.
- `names`: words with commas between them; possibly none.
- `ints`: numbers with commas between them, each as an `int`.
- `text`: the rest of the text, with its line breaks. Only at the end.

Whitespace in a form stands for any whitespace. Upper and lower case differ. A form has no optional parts: what was
written from data is read as the same data, or is not written.
"""

from __future__ import annotations

import re  # noqa: TID253 (loaded only for packs with text forms)

from moot.core.record import Record
from moot.core.text import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

KINDS = {
    "int": "a number",
    "word": "a word",
    "names": "names with commas between them",
    "ints": "numbers with commas between them",
    "text": "a text",
}
_FIELD = re.compile(r"\{([A-Za-z_]\w*):(\w+)\}", re.ASCII)
_FIRST = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_SPELLED = 4  # letters: the shortest first word in capitals that can be a misspelt one
_INTEGER = re.compile("#?([0-9]{1,15})")


class Field(Record):
    name: str
    kind: str
    stop: str = ""  # the character after it, which ends it


class TextForm(Record):
    """`parts`: fixed texts and fields, in order."""

    source: str
    first: str
    parts: tuple[str | Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts if isinstance(part, Field))


class NearMiss(Record):
    """Where a text first differs from a form, counted from 0, and what belongs there."""

    form: TextForm
    position: int
    expected: str


def form_of(source: str) -> TextForm:
    """The form that is written so. Raises `ValueError` if it is none."""
    pieces = _FIELD.split(" ".join(source.split()))
    texts, names, kinds = pieces[::3], pieces[1::3], pieces[2::3]
    first = _FIRST.match(texts[0])
    if first is None or (first[0] == texts[0] and names):
        raise ValueError("a text form begins with a word, and a blank after it")
    if any("{" in text or "}" in text for text in texts):
        raise ValueError("expected fields such as {name:word}")
    if unknown := next((kind for kind in kinds if kind not in KINDS), None):
        raise ValueError(f"there is no kind {unknown!r}; known: {', '.join(KINDS)}")
    if len({*names}) < len(names) or "type" in names:
        raise ValueError("each field has a name of its own, and none is called type")
    if "text" in kinds[:-1] or (kinds and kinds[-1] == "text" and texts[-1]):
        raise ValueError("a field of the kind text is the last thing in a form")
    if "" in texts[1:-1]:
        raise ValueError("something must stand between two fields")
    parts: list[str | Field] = [texts[0]]
    for name, kind, after in zip(names, kinds, texts[1:], strict=True):
        parts += [Field(name, kind, after[:1].strip()), *([after] if after else [])]
    return TextForm(source=source, first=first[0], parts=tuple(parts))


def parse(form: TextForm, text: str) -> dict[str, Any] | NearMiss:
    """The fields of a text, or where it does not have the form."""
    at, values = 0, {}
    for number, part in enumerate(form.parts):
        if isinstance(part, Field):
            found = _pattern(part).match(text, at)
            if found is None:
                return NearMiss(form, at, KINDS[part.kind])
            values[part.name] = _value(part.kind, found[found.re.groups])
            at = found.end()
            continue
        numeric = number + 1 < len(form.parts) and getattr(form.parts[number + 1], "kind", "") == "int"
        fixed = part.removesuffix("#") if numeric else part
        for index, char in enumerate(fixed):
            end = _after_blanks(text, at) if char == " " else at + text.startswith(char, at)
            if end == at:
                word = fixed[fixed.rfind(" ", 0, index) + 1 :].split(" ")[0]
                return NearMiss(form, at, "a blank" if char == " " else repr(word))
            at = end
    at = _after_blanks(text, at)
    return values if at == len(text) else NearMiss(form, at, "the end")


def schema_of(form: TextForm) -> dict[str, Any]:
    """The JSON Schema of data that this form can say, besides other fields."""
    text = {"type": "string", "pattern": "\\S"}
    kinds: dict[str, dict[str, Any]] = {
        "int": {"type": "integer", "minimum": 1},
        "names": {"type": "array", "items": text, "minItems": 1},
        "ints": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "uniqueItems": True},
    }
    fields = {part.name: kinds.get(part.kind, text) for part in form.parts if isinstance(part, Field)}
    return {"type": "object", "properties": fields, "required": [*fields]}


def _after_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def render(form: TextForm, data: Mapping[str, Any]) -> str:
    """The data as text. Empty if the form cannot say all of it."""
    said = ""
    for part in form.parts:
        value = data.get(part.name) if isinstance(part, Field) else part
        said += ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return said if parse(form, said) == dict(data) else ""


def read(forms: Sequence[TextForm], text: str) -> tuple[TextForm, dict[str, Any]] | NearMiss | None:
    """The first form that the text has, with its fields, or the closest one. None: it does not begin like any form."""
    first = _FIRST.match(text)
    word = first[0] if first else ""
    meant = [form for form in forms if form.first == word]
    if not meant and len(word) >= _SPELLED and word.isupper():
        near = closest(word, [form.first for form in forms])
        meant = [form for form in forms if form.first == near]
    mismatches = []
    for form in meant:
        found = parse(form, text)
        if not isinstance(found, NearMiss):
            return form, found
        mismatches.append(found)
    return max(mismatches, key=lambda mismatch: mismatch.position, default=None)


def _pattern(field: Field) -> re.Pattern[str]:
    if field.kind == "int":
        return _INTEGER
    if field.kind == "text":
        return re.compile(r"(\S[\s\S]*)")
    stop = re.escape(field.stop)
    if field.kind == "word":
        return re.compile(rf"([^\s{stop}]+)")
    name = "#?[0-9]{1,15}" if field.kind == "ints" else rf"[^\s,{stop}]+"
    return re.compile(rf"((?:{name}(?:\s*,\s*{name})*)?)")


def _value(kind: str, said: str) -> Any:
    if kind == "names":
        return [name for part in said.split(",") if (name := part.strip())]
    if kind == "ints":
        return [int(part.strip().removeprefix("#")) for part in said.split(",") if part]
    return int(said) if kind == "int" else said.strip()
