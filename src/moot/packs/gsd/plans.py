"""What a plan file says: its wave, what it waits for, and its tasks.

A plan is `.planning/phases/<phase>/<plan>-PLAN.md`, as the planning system writes it: front matter in YAML, then a body
with a `<task>` element for each task. `<plan>-SUMMARY.md` beside it says that the plan is done.

A plan whose front matter, `depends_on` or `needs` cannot be read may wait for anything, so it is blocked with the
reason. What else cannot be read is a problem, and the rest counts.

Pure. `moot.packs.gsd.sources` finds the files and takes them into the log.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.gsd.ids import PlanId, phase_of, plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PLAN, SUMMARY = "PLAN.md", "SUMMARY.md"
MOST = 1000  # entries of one list, and tasks
_LONGEST = 1000  # characters of a path or of the name of a task
_FENCE, _ENDS = "---", ("---", "...")
_NOTHING = ("", "~", "null", "Null", "NULL")


class PlanFile(Record):
    """The content of a plan file. Paths are relative to the project root, plans are written as `PlanId.name`."""

    wave: int = 0  # 0: not given
    depends_on: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # artifacts that it says it needs
    tasks: tuple[str, ...] = ()  # the names of its tasks, in order
    unreadable: str = ""  # why it is not known what it waits for
    problems: tuple[str, ...] = ()  # with that one


def named(file: str, folder: str = "", ending: str = PLAN) -> PlanId | None:
    """The plan of a file: `01-02-PLAN.md`, also with words (`01-02-login-PLAN.md`), or `02-PLAN.md` in `01-base/`."""
    if not file.endswith(f"-{ending}"):
        return None
    parts = file.removesuffix(f"-{ending}").split("-")
    whole = plan_of("-".join(parts[:2])) if len(parts) > 1 else None
    if whole is not None:
        return whole
    return plan_of(f"{folder.partition('-')[0]}-{parts[0]}") if len(parts) == 1 else None


def read(data: bytes, plan: PlanId) -> PlanFile:
    """What the file of this plan says. Never raises."""
    from moot.core.strict_yaml import TornYaml, load_texts  # most commands find the files as they were

    try:
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        return unreadable("the text is not UTF-8")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in _ENDS), None)
    if lines[0].rstrip() != _FENCE or end is None:
        return unreadable("the file does not begin with front matter between two lines ---")
    tasks = tuple(_tasks("\n".join(lines[end + 1 :])))[:MOST]
    try:
        fields = load_texts("\n".join(lines[1:end]), once=("depends_on", "needs"))
    except TornYaml as torn:
        return unreadable(f"line {torn.line + 1}, column {torn.column}: {torn.reason}", tasks)
    if fields is None:
        fields = {}
    if not isinstance(fields, dict):
        return unreadable("the front matter has no keys", tasks)
    try:
        before = _list(fields, "depends_on", lambda text: _plan(text, plan), "plan")
        needs = _list(fields, "needs", _path, "path of this project")
    except ValueError as error:
        return unreadable(str(error), tasks)
    if plan.name in before:
        return unreadable("depends_on: the plan depends on itself", tasks)
    said = fields.get("wave", "")
    wave = phase_of(said)
    problems = () if said in _NOTHING or (wave and len(wave) == 1) else (f"wave: {_short(said)} is not a whole number",)
    return PlanFile(
        wave=0 if problems or not wave else wave[0], depends_on=before, needs=needs, tasks=tasks, problems=problems
    )


def unreadable(reason: str, tasks: tuple[str, ...] = ()) -> PlanFile:
    return PlanFile(tasks=tasks, unreadable=reason, problems=(reason,))


def _list(fields: dict[Any, Any], key: str, meant: Callable[[str], str | None], what: str) -> tuple[str, ...]:
    """The entries of a list, or of a text with one. Raises ValueError for anything that is not one."""
    said = fields.get(key, "")
    entries = said if isinstance(said, list) else [] if said in _NOTHING else [said]
    if len(entries) > MOST:
        raise ValueError(f"{key}: {len(entries)} entries; at most {MOST} are allowed")
    found = [meant(one) if isinstance(one, str) else None for one in entries]
    for entry, one in zip(entries, found, strict=True):
        if one is None:
            raise ValueError(f"{key}: {_short(entry)} is not a {what}")
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _plan(text: str, own: PlanId) -> str | None:
    """The plan that an entry of `depends_on` names.

    `01-02`, `02` (of the own phase), with the name of the phase (`01-base-02`), of the plan (`01-02-login`) or of the
    file (`01-02-PLAN.md`). Never one of several in a text: the others would be lost.
    """
    text = text.strip()
    if len(text.split()) > 1 or set(",;+&") & set(text):
        return None
    parts = text.rpartition("/")[2].removesuffix(".md").removesuffix("-PLAN").split("-")
    found = plan_of("-".join(parts[:2]))
    if len(parts) == 1:
        found = PlanId(phase=own.phase, number=int(parts[0])) if plan_of(f"0-{parts[0]}") else None
    elif found is None:
        found = plan_of(f"{parts[0]}-{parts[-1]}")
    return found.name if found is not None else None


def _path(text: str) -> str | None:
    """The path, without `./` before it; None if it is not one plain path inside the project."""
    path = text.strip().removeprefix("./")
    parts = path.split("/")
    bad = not path or len(path) > _LONGEST or not path.isprintable() or "\\" in path or path.startswith(("/", "~"))
    return None if bad or {"", ".", ".."} & set(parts[:-1]) or parts[-1] in (".", "..") else path


def _tasks(body: str) -> Iterator[str]:
    """The names of the `<task>` elements outside comments and code; without any, of the headings `Task 1: …`."""
    import re  # late: most commands find no changed plan

    text = re.sub(r"<!--.*?(-->|\Z)", "", body, flags=re.DOTALL)
    text = re.sub(r"^ {0,3}(```|~~~).*?^ {0,3}\1", "", text, flags=re.DOTALL | re.MULTILINE)
    found = False
    for element in re.finditer(r"<task(?:\s[^<>]*)?>(.*?)(?=<task[\s>]|</task>|\Z)", text, re.DOTALL | re.IGNORECASE):
        found = True
        name = re.search(r"<(name|title)>(.*?)</\1>", element[1], re.DOTALL | re.IGNORECASE)
        yield _name(name[2]) if name else ""
    if not found:
        for heading in re.finditer(r"^#{2,4}\s*Task\s+\d+\b[.:)\s-]*(.*)$", text, re.MULTILINE | re.IGNORECASE):
            yield _name(heading[1])


def _name(text: str) -> str:
    """The name without `Task 1:` before it."""
    import re

    return re.sub(r"^Task\s+\d+\s*[.:)-]\s*", "", " ".join(text.split()), flags=re.IGNORECASE)[:_LONGEST]


def _short(value: Any) -> str:
    from moot.core.schema.phrases import shown

    return shown(value)
