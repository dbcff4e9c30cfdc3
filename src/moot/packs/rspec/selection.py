"""Selection: which of the proposed methods are covered. A person chooses, by option, at the terminal or later.

An answer is one of these; case does not matter in the words:

    yes, proposed           what is proposed: new and modified methods
    all                     every method
    cancel                  nothing; the run ends as cancelled
    Payment#* *#process*    only the methods with a matching id
    +Payment#a -Payment#b   the proposal, with these added and those left out; patterns, or numbers of the view
    3 5 7-9                 only the methods with these numbers

Pure. Waves are never computed again: a method that is left out keeps its place.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Item = Mapping[str, Any]

DESELECTED = "User deselected"
ALL, PROPOSED, CANCEL, PATTERN = "all", "proposed", "cancel", "pattern"
_WORDS = {
    **dict.fromkeys(("yes", "y", "ok", "proposed", "proposal"), PROPOSED),
    "all": ALL,
    **dict.fromkeys(("cancel", "none", "no", "n", "abort"), CANCEL),
}
_LONGEST = 20_000
_MOST_WORDS = 2000


class MethodChoice(Record):
    """What was chosen. `chosen` has the place of each selected method."""

    kind: str
    chosen: frozenset[int] = frozenset()


def items_of(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All methods of an answer. Their places in this list are their numbers in the view, from 1."""
    return [item for wave in answer["method_waves"] for item in wave["items"]]


def read_choice(answer: Mapping[str, Any], said: str) -> MethodChoice:
    """What an answer of a person means. Raises `nothing_matches` and others; then the question is asked again."""
    words = said.strip()
    if len(words) > _LONGEST:
        raise _unreadable(f"it has more than {_LONGEST} characters")
    items = items_of(answer)
    kind = _WORDS.get(words.lower())
    if kind == CANCEL:
        return MethodChoice(CANCEL)
    if kind == ALL:
        return MethodChoice(ALL, chosen=frozenset(range(len(items))))
    if kind == PROPOSED:
        return MethodChoice(PROPOSED, chosen=_proposed(items))
    parts = words.replace(",", " ").split()
    if not parts:
        raise _unreadable("it is empty")
    if len(parts) > _MOST_WORDS:
        raise _unreadable(f"it has more than {_MOST_WORDS} words")
    toggles = [part for part in parts if part[0] in "+-" and len(part) > 1]
    if toggles and len(toggles) < len(parts):
        raise _unreadable("it mixes toggles (+NAME, -NAME) with patterns")
    if toggles:
        return MethodChoice(PATTERN, chosen=_toggled(items, toggles))
    return MethodChoice(PATTERN, chosen=_matching_any(items, parts))


def from_options(
    answer: Mapping[str, Any], *, everything: bool, only: Sequence[str], but: Sequence[str]
) -> MethodChoice:
    """The choice that options make: all or only some of the methods, and those left out of them."""
    items = items_of(answer)
    some = frozenset(range(len(items))) if everything else _proposed(items)
    chosen = _matching_any(items, only) if only else some
    left_out = _matching_any(items, but) if but else frozenset()
    return MethodChoice(PATTERN if only or but else ALL if everything else PROPOSED, chosen=chosen - left_out)


def _proposed(items: Sequence[Item]) -> frozenset[int]:
    return frozenset(place for place, item in enumerate(items) if item["selected"])


def _toggled(items: Sequence[Item], toggles: Sequence[str]) -> frozenset[int]:
    chosen = set(_proposed(items))
    for toggle in toggles:
        found = set(_matching(items, toggle[1:]))
        chosen = chosen | found if toggle[0] == "+" else chosen - found
    return frozenset(chosen)


def _matching_any(items: Sequence[Item], patterns: Sequence[str]) -> frozenset[int]:
    return frozenset(place for pattern in patterns for place in _matching(items, pattern))


def _matching(items: Sequence[Item], pattern: str) -> list[int]:
    """The places of the methods that a pattern, or a number or range of the view, means."""
    found = list(_numbered(items, pattern))
    if not found:
        matches = _matcher(pattern)
        found = [place for place, item in enumerate(items) if matches(item["method_id"])]
    if not found:
        ids = ", ".join(item["method_id"] for item in items[:5])
        raise Refused(
            "nothing_matches",
            f"No method matches {pattern[:200]!r}.",
            f"A pattern is compared with the whole id, and * means any text. There are {ids}"
            f"{' and others' if len(items) > 5 else ''}.",
            pattern=pattern[:200],
        )
    return found


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether an id matches a pattern in which only `*` is special. Linear in the length of the id."""
    first, *rest = pattern.split("*")
    if not rest:
        return lambda name: name == pattern
    *middle, last = rest

    def matches(name: str) -> bool:
        if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
            return False
        at, end = len(first), len(name) - len(last)
        for part in middle:
            found = name.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    return matches


def _numbered(items: Sequence[Item], word: str) -> Iterator[int]:
    first, _, last = word.partition("-")
    if not all(part.isascii() and part.isdigit() and len(part) < 7 for part in (first, last or first)):
        return
    start, end = int(first), int(last or first)
    yield from range(max(start, 1) - 1, min(end, len(items)))


def applied(answer: Mapping[str, Any], choice: MethodChoice) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The answer with this selection, and a warning for each selected method that uses a class left out."""
    from moot.packs.rspec.discovery import CANCELLED, STOP, summary

    if choice.kind == CANCEL or not choice.chosen:
        message = "The selection was cancelled." if choice.kind == CANCEL else "No method was selected."
        return {"status": STOP, "reason": CANCELLED, "message": message}, ()
    places = iter(range(len(items_of(answer))))
    waves = [
        {**wave, "items": [_marked(item, choice, next(places)) for item in wave["items"]]}
        for wave in answer["method_waves"]
    ]
    items = [item for wave in waves for item in wave["items"]]
    selected = {(i["source_file"], i["class_name"], i["method_name"]): i["selected"] for i in items}
    files = [
        {
            **file,
            "public_methods": [
                {**one, "selected": selected[file["path"], file["class_name"], one["name"]]}
                for one in file["public_methods"]
            ],
        }
        for file in answer["files"]
    ]
    changed = {**answer, "method_waves": waves, "files": files, "summary": summary(waves, files)}
    return changed, tuple(_missing_dependencies(items))


def _marked(item: Item, choice: MethodChoice, place: int) -> dict[str, Any]:
    """The item with its selection, and the keys in their order."""
    selected = place in choice.chosen
    marked: dict[str, Any] = {}
    for key, value in item.items():
        if key == "selected":
            marked[key] = selected
            if not selected:
                marked["skip_reason"] = item.get("skip_reason", DESELECTED)
        elif key != "skip_reason":
            marked[key] = value
    return marked


def _missing_dependencies(items: Sequence[Item]) -> Iterator[str]:
    """A selected method that uses a class of which a method was left out."""
    left_out: dict[str, list[str]] = {}
    for item in items:
        if not item["selected"]:
            left_out.setdefault(item["class_name"], []).append(item["method_id"])
    for item in items:
        for used in item["cross_class_deps"] if item["selected"] else ():
            if used["class"] in left_out:
                names = ", ".join(left_out[used["class"]][:5])
                yield f"{item['method_id']} depends on {used['class']}, of which {names} is not selected."


def view(answer: Mapping[str, Any], warnings: Sequence[str] = ()) -> list[str]:
    """The plan, grouped by file, for a person who chooses."""
    numbers = {id(item): number for number, item in enumerate(items_of(answer), 1)}
    by_class: dict[tuple[str, str], list[tuple[int, Item]]] = {}
    for wave in answer["method_waves"]:
        for item in wave["items"]:
            by_class.setdefault((item["source_file"], item["class_name"]), []).append((wave["wave"], item))
    lines: list[str] = []
    for file in answer["files"]:
        size = file["complexity"]
        lines.append(
            f"{file['path']}  {file['class_name']}  {size['zone']}, {size['loc']} lines, {size['methods']} methods"
        )
        for wave, item in sorted(by_class[file["path"], file["class_name"]], key=lambda one: one[1]["line_range"]):
            uses = ", ".join(one["class"] for one in item["cross_class_deps"])
            mark = "x" if item["selected"] else " "
            said = f"  [{mark}] {numbers[id(item)]:>2} {item['method_id']}  {item['method_mode']}, wave {wave}"
            lines.append(f"{said}, uses {uses}" if uses else said)
    return [*lines, *(f"! {warning}" for warning in warnings)]


def _unreadable(why: str) -> Refused:
    return Refused(
        "choice_unreadable",
        f"The answer cannot be read: {why}.",
        "Answer yes, all, cancel, patterns (`Payment#*`), numbers (`1 3-5`) or toggles (`+Payment#a -Payment#b`).",
    )
