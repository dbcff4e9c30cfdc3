"""Where a value is in a JSON text. The places are written as in defects: `messages[0].result.status`.

The text must be valid JSON. Each list or object is scanned once, however many of its values are looked up.
"""

from __future__ import annotations

from moot.core.schema.phrases import pointed

_BLANK = " \t\r\n"
_BETWEEN = _BLANK + ",:"


class JsonPlaces:
    """The places in one text."""

    def __init__(self, text: str) -> None:
        from json import JSONDecoder

        self._text = text
        self._value = JSONDecoder().raw_decode
        self._inner: dict[int, dict[str, int]] = {}  # the offsets of the values in an object or list, by step

    def offset(self, place: str) -> int:
        """The offset of the value; if it does not exist, that of the innermost value around it."""
        at, rest = self._past(0, _BLANK + "\ufeff"), place.lstrip(".")
        while rest:
            step = self._step(at, rest)
            if step is None:
                break
            at, rest = self._children(at)[step], rest[len(step) :].lstrip(".")
        return at

    def place(self, offset: int) -> str:
        """The place of the value at this offset; if none starts there, that of the value around it."""
        at, found = self.offset(""), ""
        while at < offset:
            step, inner = max(
                ((step, inner) for step, inner in self._children(at).items() if inner <= offset),
                key=lambda one: one[1],
                default=("", offset),
            )
            dot = "." if found and step and not step.startswith("[") else ""
            at, found = inner, f"{found}{dot}{step}"
        return found

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Both are counted from 1."""
        return self._text.count("\n", 0, offset) + 1, offset - self._text.rfind("\n", 0, offset)

    def _step(self, at: int, rest: str) -> str | None:
        """The first step of the rest of a place, if the value there has it. Keys may contain dots and brackets."""
        found = self._children(at)
        whole = rest[: rest.index("]") + 1] if rest.startswith("[") and "]" in rest else ""
        if whole in found:
            return whole
        ends = [end for end in range(1, len(rest) + 1) if end == len(rest) or rest[end] in ".["]
        return next((rest[:end] for end in reversed(ends) if rest[:end] in found), None)

    def _children(self, at: int) -> dict[str, int]:
        if at not in self._inner:
            self._inner[at] = dict(self._scanned(at)) if self._text[at : at + 1] in ("{", "[") else {}
        return self._inner[at]

    def _scanned(self, at: int) -> list[tuple[str, int]]:
        """The steps into an object or list, each with the offset of its value."""
        found: list[tuple[str, int]] = []
        closing = "}" if self._text[at] == "{" else "]"
        at = self._past(at + 1, _BETWEEN)
        while self._text[at] != closing:
            step = f"[{len(found)}]"
            if closing == "}":
                key, end = self._value(self._text, at)
                step, at = pointed((key,)), self._past(end, _BETWEEN)
            found.append((step, at))
            at = self._past(self._value(self._text, at)[1], _BETWEEN)
        return found

    def _past(self, at: int, skipped: str) -> int:
        while self._text[at : at + 1] and self._text[at] in skipped:
            at += 1
        return at
