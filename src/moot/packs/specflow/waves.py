"""Issues and the waves in which they are done: sources, dependencies, layers, names, decisions, closing, the report.

What always holds:
- A plan is refused as a whole, with everything that is wrong with it. It starts nothing.
- A plan changes no issue of a live wave. Of the planned waves only the next one is stored; later ones are computed.
- An issue leaves its wave closed or deferred, or because the wave was aborted.
"""

from __future__ import annotations

import re  # noqa: TID253 (loaded on demand)
from itertools import count

from moot.core import strict_json
from moot.core.errors import Refused
from moot.core.layers import layers_of
from moot.core.record import Record
from moot.core.schema import defects
from moot.core.text import bullets, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

SIZE_LIMIT = 1 << 24  # bytes of a list of issues
_ISSUE_LIMIT = 3000
_LARGEST = 10**9 - 1
_NAMED = {"type": ["string", "object"], "description": "a text, or an object as gh writes it"}
_SHAPE = {
    "type": "array",
    "maxItems": _ISSUE_LIMIT,
    "description": f"a list of at most {_ISSUE_LIMIT} issues, as `gh issue list --json` writes it",
    "items": {
        "type": "object",
        "required": ["number", "title"],
        "properties": {
            "number": {"type": "integer", "minimum": 1, "maximum": _LARGEST},
            "title": {"type": "string", "pattern": r"\S", "description": "a title that is not blank"},
            "body": {"type": ["string", "null"]},
            "labels": {"type": "array", "items": {**_NAMED, "properties": {"name": {"type": "string"}}}},
            "comments": {"type": "array", "items": {**_NAMED, "properties": {"body": {"type": "string"}}}},
            "state": {"type": "string"},
        },
    },
}
_LINKS = re.compile(r"\b(depends\s+on|blocks)[\s:*_]*(#[0-9]{1,9}\b(?:(?:[\s,&]|and)+#[0-9]{1,9}\b)*)", re.IGNORECASE)
_NUMBER = re.compile(r"#([0-9]+)")


class Backlog(Record):
    """An issue as its source has it. `text`: its body."""

    number: int
    name: str
    text: str = ""
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    closed: bool = False


# --- sources ---------------------------------------------------------------------------------------------------------


def read(data: bytes, source: str) -> tuple[Backlog, ...]:
    """The issues of a list as `gh issue list --json` writes it."""
    try:
        given = strict_json.load(data)
    except strict_json.Torn as problem:
        raise Refused(
            "bad_issues",
            f"{source} is not JSON: {problem}.",
            "Write it with `gh issue list --json number,title,body,labels,comments,state`.",
            source=source,
        ) from None
    wrong = [defect.sentence for defect in defects(_SHAPE, given)]
    if wrong or not isinstance(given, list):
        raise Refused(
            "bad_issues",
            "\n".join([f"{source} has {counted(len(wrong), 'defect')}:", *bullets(wrong)]),
            "Each issue needs a number and a title; body, labels, comments and state are optional.",
            source=source,
            defects=wrong,
        )
    return tuple(
        Backlog(
            number=int(one["number"]),
            name=" ".join(one["title"].split()),
            text=one.get("body") or "",
            labels=_texts(one.get("labels", ()), "name"),
            comments=_texts(one.get("comments", ()), "body"),
            closed=one.get("state", "").lower() == "closed",
        )
        for one in given
    )


def _texts(items: Iterable[str | Mapping[str, str]], key: str) -> tuple[str, ...]:
    return tuple(item if isinstance(item, str) else item.get(key, "") for item in items)


# --- dependencies and layers -----------------------------------------------------------------------------------------


def links(issues: Iterable[Backlog]) -> dict[int, set[int]]:
    """For each issue the numbers that it depends on: what its body names, and the issues whose bodies it `Blocks`."""
    found: dict[int, set[int]] = {issue.number: set() for issue in issues}
    for issue in issues:
        for verb, named in _LINKS.findall(issue.text):
            for number in map(int, _NUMBER.findall(named)):
                if verb[0] in "dD":
                    found[issue.number].add(number)
                elif number in found:
                    found[number].add(issue.number)
    return found


def layers(needs: Mapping[int, Collection[int]], closed: Collection[int], numbers: Sequence[int] = ()) -> list[list[int]]:
    """The waves: in the first what depends on nothing open, in each later one what depends on earlier ones.

    `needs`: every issue to plan with what it depends on. `numbers`: the issues as they were listed.
    """
    if not needs:
        raise Refused("no_issues", "There is no open issue to plan.", "Name a file, use --gh, or add tasks issue-N.")
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    wrong = [f"#{number} is listed {numbers.count(number)} times" for number in twice]
    for number, wanted in sorted(needs.items()):
        gone = sorted(one for one in wanted if one not in needs and one not in closed)
        wrong += [f"#{number} depends on {_hashed(gone)}, which is neither in the plan nor closed"] if gone else []
    names = {number: f"{number:09d}" for number in needs}
    found = layers_of({name: name for name in names.values()}, {names[n]: _known(names, needs[n]) for n in needs})
    circles = [[int(name) for name in cut.cycle] for cut in found.cuts]
    circles += [[number, number] for number in sorted(needs) if number in needs[number]]
    wrong += [" → ".join(f"#{number}" for number in circle) + " wait for each other" for circle in circles]
    if wrong:
        raise Refused(
            "bad_plan",
            "\n".join(["These issues cannot be planned:", *bullets(wrong)]),
            "Correct the bodies (`Depends on #N`, `Blocks #N`), or add the missing issues, and plan again.",
            twice=twice,
            cycles=circles,
            defects=wrong,
        )
    return [[int(name) for name in layer] for layer in found.layers]


def _known(names: Mapping[int, str], numbers: Iterable[int]) -> list[str]:
    return [names[number] for number in numbers if number in names]


def _hashed(numbers: Iterable[int]) -> str:
    return ", ".join(f"#{number}" for number in numbers)


# --- names -----------------------------------------------------------------------------------------------------------


def pool_names(pool: Sequence[str], taken: Collection[str] = ()) -> Iterator[str]:
    """The names of a pool in order, then again with a number. `taken`: names in use, in any letter case."""
    used = {name.casefold() for name in taken}
    for turn in count(1):
        for name in pool:
            numbered = name if turn == 1 else f"{name} {turn}"
            if numbered.casefold() not in used:
                yield numbered
