"""Where a file does not show what the log says: what is missing or different in it. What it has in addition is news."""

from __future__ import annotations

from moot.core.json_codec import dumps
from moot.core.schema import Defect
from moot.core.schema.phrases import NOTHING, shown
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LONGEST = 200  # characters of a value


def deviations(expected: Any, found: Any, place: str = "") -> Iterator[Defect]:
    """The differences between a value of the log and the file's value in the same place."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            inner = f"{place}.{key}" if place else key
            if key in found:
                yield from deviations(value, found[key], inner)
            else:
                yield Defect(inner, _said(value), NOTHING)
    elif isinstance(expected, list) and isinstance(found, list):
        yield from _of_list(expected, found, place)
    elif type(expected) is not type(found) or expected != found:
        yield Defect(place, _said(expected), shown(found))


def fallen_back(expected: dict[str, Any], found: dict[str, Any], key: str) -> Iterator[Defect]:
    """A number that must not be lower than that of the log."""
    least, has = expected.get(key), found.get(key)
    if isinstance(least, int) and not (isinstance(has, int) and not isinstance(has, bool) and has >= least):
        yield Defect(key, f"{least} or more", shown(has))


def _of_list(expected: list[Any], found: list[Any], place: str) -> Iterator[Defect]:
    """An item may be anywhere in the list. One that is missing is compared with an unknown item in its place."""
    import json

    known: dict[str, list[int]] = {}
    for number, item in enumerate(found):
        known.setdefault(json.dumps(item, sort_keys=True), []).append(number)
    lacking = []
    for number, item in enumerate(expected):
        same = known.get(json.dumps(item, sort_keys=True))
        if same:
            same.pop()
        else:
            lacking.append((number, item))
    odd = {number: found[number] for left in known.values() for number in left}
    for number, item in lacking:
        if number in odd and isinstance(item, dict) and isinstance(odd[number], dict):
            yield from deviations(item, odd[number], f"{place}[{number}]")
        else:
            yield Defect(place, _said(item), NOTHING)


def _said(value: Any) -> str:
    return f"{one_line(dumps(value), _LONGEST)}, as the log has it"
