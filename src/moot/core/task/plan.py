"""A Markdown plan: its check boxes as tasks. Pure; it knows neither files nor tasks that exist.

- `- [ ] Title` is a task. `- [x] Title` is done and skipped. `*`, `+` and `1.` work like `-`.
- A box that is indented below another one is needed by it.
- Indented text below a box is its body. An indented line `needs: A, B` names other boxes by title, or tasks by id.
  So does `needs: A, B` or `(needs: A, B)` at the end of the box's own line; it is not part of the title.
- Headings, other text and code blocks are ignored.

An item is identified by its titles, from the outermost to its own, not by its line or file.
"""

from __future__ import annotations

import hashlib  # noqa: TID253 (loaded on demand)
import re  # noqa: TID253 (loaded on demand)

from moot.core.deciders.graph import find_path
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ITEM_LIMIT = 1000
TITLE_LIMIT = 500  # characters
_TAB = 4
_NAMES = 100  # in one line `needs:`
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+\[(.?)\](?:\s+(.*)|$)")
_NEEDS = re.compile(r"needs:(.*)", re.IGNORECASE)
_TRAILING = re.compile(r"(?:^|\s)needs:(.*)$", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"(?:^|\s)\(needs:(.*)\)$", re.IGNORECASE)
_FENCE = re.compile(r"(`{3,}|~{3,})")


class PlanDefect(Record):
    line: int
    problem: str


class CheckBox(Record):
    """A check box. `above`: the index of the item that it is indented below."""

    line: int
    title: str
    path: tuple[str, ...]
    done: bool
    body: str = ""
    needs: tuple[tuple[int, str], ...] = ()  # the lines `needs:`, as (line, names)
    above: int | None = None

    def origin(self, file: str) -> str:
        """Where it is: the file, and its identity, which is the same wherever a plan has these titles."""
        return f"{file}#{hashlib.sha256(chr(0).join(self.path).encode()).hexdigest()[:32]}"


def recognised(origins: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """For each of these origins that has a task: the origin of that task.

    `known`: the tasks of all plans by origin, oldest first. A task from the same file is preferred, else the oldest
    from another file: the plan was renamed, copied or piped.
    """
    oldest: dict[str, str] = {}
    for origin in known:
        oldest.setdefault(origin.rpartition("#")[2], origin)
    found = {origin: origin if origin in known else oldest.get(origin.rpartition("#")[2]) for origin in origins}
    return {origin: other for origin, other in found.items() if other is not None}


class _Draft:
    """An item while it is read."""

    def __init__(self, line: int, indent: int, title: str, above: int | None, *, done: bool) -> None:
        self.line, self.indent, self.title, self.above, self.done = line, indent, title, above, done
        self.body: list[str] = []
        self.needs: list[tuple[int, str]] = []


class _Reader:
    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self.defects: list[PlanDefect] = []
        self._open: list[int] = []  # the items that an indented line can belong to, outermost first
        self._fence = ""
        self._fenced_at = 0

    def read(self, text: str) -> None:
        for number, raw in enumerate(text.split("\n"), 1):
            line = raw.rstrip().expandtabs(_TAB)
            indent = len(line) - len(line.lstrip())
            if self._fence:
                self._add(line)
                if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                    self._fence = ""
            elif not line:
                self._add(line)
            else:
                self._close(indent)
                self._line(number, indent, line)
        if self._fence:
            self.defects.append(PlanDefect(self._fenced_at, "the code block is not closed"))

    def _close(self, indent: int) -> None:
        """Leave the items that a line with this indentation does not belong to."""
        while self._open and self.drafts[self._open[-1]].indent >= indent:
            self._open.pop()

    def _line(self, number: int, indent: int, line: str) -> None:
        text = line.strip()
        if (item := _ITEM.match(text)) is not None:
            self._item(number, indent, item.group(1), (item.group(2) or "").strip())
        elif (needs := _NEEDS.match(text)) is not None:
            if self._open:
                self.drafts[self._open[-1]].needs.append((number, needs.group(1).strip()))
            else:
                self.defects.append(PlanDefect(number, "`needs:` is not indented below a check box"))
        else:
            if (fence := _FENCE.match(text)) is not None:
                self._fence, self._fenced_at = fence.group(1), number
            self._add(line)

    def _item(self, number: int, indent: int, mark: str, text: str) -> None:
        title, needs = _split(text)
        if mark not in (" ", "x", "X"):
            self.defects.append(PlanDefect(number, f"[{mark}] is neither [ ] (to do) nor [x] (done)"))
        elif not title:
            self.defects.append(PlanDefect(number, "the check box has no title"))
        elif len(title) > TITLE_LIMIT:
            self.defects.append(PlanDefect(number, f"the title has more than {TITLE_LIMIT} characters"))
        above = self._open[-1] if self._open else None
        self._open.append(len(self.drafts))
        self.drafts.append(_Draft(number, indent, title, above, done=mark in ("x", "X")))
        if needs is not None:
            self.drafts[-1].needs.append((number, needs))

    def _add(self, line: str) -> None:
        if self._open:
            self.drafts[self._open[-1]].body.append(line)


def _split(text: str) -> tuple[str, str | None]:
    """The title of a box, and the names that its line ends with."""
    found = _IN_PARENTHESES.search(text) if text.endswith(")") else None
    found = found or _TRAILING.search(text)
    if found is None:
        return text, None
    return text[: found.start()].rstrip(" ,;—-"), found.group(1).strip()


def parse(text: str) -> tuple[list[CheckBox], list[PlanDefect]]:
    """The check boxes of a text, in order, and what is wrong with them."""
    reader = _Reader()
    reader.read(text)
    items: list[CheckBox] = []
    paths: dict[tuple[str, ...], int] = {}
    for draft in reader.drafts:
        path = (*(items[draft.above].path if draft.above is not None else ()), draft.title)
        if draft.title and path in paths:
            where = f"line {paths[path]}"
            reader.defects.append(PlanDefect(draft.line, f"{_quoted(draft.title)} is also the title of {where}"))
        paths.setdefault(path, draft.line)
        items.append(
            CheckBox(
                line=draft.line,
                title=draft.title,
                path=path,
                done=draft.done,
                body=_dedented(draft.body),
                needs=tuple(draft.needs),
                above=draft.above,
            )
        )
    if len(items) > ITEM_LIMIT:
        line = items[ITEM_LIMIT].line
        reader.defects.append(PlanDefect(line, f"there are {len(items)} check boxes; the limit is {ITEM_LIMIT}"))
    return items, reader.defects


def edges(items: Sequence[CheckBox], is_task: Callable[[str], bool]) -> tuple[list[list[int | str]], list[PlanDefect]]:
    """What each item needs: other items by index, tasks by id; and what is wrong with that."""
    titles: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        titles.setdefault(item.title, []).append(index)
    found: list[list[int | str]] = [[] for _ in items]
    defects: list[PlanDefect] = []
    for index, item in enumerate(items):
        if item.above is not None:
            found[item.above].append(index)
        for line, names in item.needs:
            for need in _resolved(line, names, titles, items, is_task, defects):
                if need not in found[index]:
                    found[index].append(need)
    return found, [*defects, *_cycles(items, found)]


def _resolved(
    line: int,
    names: str,
    titles: dict[str, list[int]],
    items: Sequence[CheckBox],
    is_task: Callable[[str], bool],
    defects: list[PlanDefect],
) -> list[int | str]:
    """The items and tasks that a line names. A title may contain commas, so the longest match counts."""
    found: list[int | str] = []
    parts = names.split(",")
    if len(parts) > _NAMES:
        defects.append(PlanDefect(line, f"`needs:` has more than {_NAMES} names; use several lines"))
        return []
    while parts:
        for count in range(len(parts), 0, -1):
            name = ",".join(parts[:count]).strip().strip("`\"'“”").strip()
            if name in titles or (name and is_task(name)):
                break
        else:
            count, name = 1, parts[0].strip()
            problem = f"there is no check box and no task {_quoted(name)}" if name else "`needs:` names nothing"
            defects.append(PlanDefect(line, problem))
            parts = parts[1:]
            continue
        parts = parts[count:]
        which = titles.get(name, [])
        if len(which) > 1:
            lines = ", ".join(str(items[index].line) for index in which)
            defects.append(PlanDefect(line, f"{_quoted(name)} is the title of several check boxes (lines {lines})"))
        else:
            found.append(which[0] if which else name)
    return found


def _cycles(items: Sequence[CheckBox], found: list[list[int | str]]) -> list[PlanDefect]:
    """One defect for each item whose own `needs:` lines, or whose place, close a cycle."""
    defects: list[PlanDefect] = []
    graph: dict[str, frozenset[str]] = {}
    for index, needs in enumerate(found):
        for need in needs:
            if not isinstance(need, int):
                continue
            path = find_path(graph, str(need), str(index))
            if path is not None:
                steps = [items[int(step)] for step in (str(index), *path)]
                said = " → ".join(f"{_quoted(step.title)} (line {step.line})" for step in steps)
                defects.append(PlanDefect(items[index].line, f"these would wait for each other: {said}"))
            else:
                graph[str(index)] = graph.get(str(index), frozenset()) | {str(need)}
    return defects


def _dedented(lines: list[str]) -> str:
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines)


def _quoted(text: str) -> str:
    return f"“{text[:80]}{'…' if len(text) > 80 else ''}”"
