"""What a plan file says: its wave, the plans it depends on, what it makes and touches, and its tasks.

A plan is `.planning/phases/<phase>/<plan>-PLAN.md`, as the planning system writes it: front matter, then a body with a
`<task>` element for each task. `<plan>-SUMMARY.md` beside it says that the plan is done. Agents write these files by
hand, so every part may be missing or malformed: what can be read counts, and the rest is a problem with its place.

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
_PROBLEMS = 20


class PlanFile(Record):
    """The content of a plan file. Paths are relative to the project root, plans are written as `PlanId.name`."""

    wave: int = 0  # 0: not given
    depends_on: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # artifacts that it says it needs
    makes: tuple[str, ...] = ()  # artifacts that must exist when it is done
    touches: tuple[str, ...] = ()  # files that it modifies
    tasks: tuple[str, ...] = ()  # the names of its tasks, in order
    autonomous: bool = True  # whether it has no checkpoint for a person
    problems: tuple[str, ...] = ()


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
    from moot.packs.gsd import front_matter  # imported late: most commands find the files as they were
    from moot.packs.gsd.flow_values import Fault

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return PlanFile(problems=(f"line {line}: the text is not UTF-8",))
    try:
        found = front_matter.parse(text)
    except Fault as fault:
        return PlanFile(tasks=tuple(_tasks(text)), problems=(str(fault),))
    reading = _Reading(found.fields, plan)
    made = PlanFile(
        wave=reading.wave(),
        depends_on=reading.plans("depends_on"),
        needs=reading.paths("needs"),
        makes=reading.artifacts(),
        touches=reading.paths("files_modified"),
        tasks=tuple(_tasks(found.body))[:MOST],
        autonomous=reading.truth("autonomous", default=True),
    )
    problems = (*reading.identity(), *reading.problems, *map(str, found.doubts))
    more = len(problems) - _PROBLEMS
    return made.replace(problems=(*problems[:_PROBLEMS], *((f"{more} more problems",) if more > 0 else ())))


class _Reading:
    """Takes values out of the front matter, and notes what is wrong with them."""

    def __init__(self, fields: dict[str, Any], plan: PlanId) -> None:
        self._fields, self._plan = fields, plan
        self.problems: list[str] = []

    def identity(self) -> Iterator[str]:
        """Contradictions between the front matter and the name of the file, which counts."""
        phase = phase_of(str(self._fields.get("phase", "")).partition("-")[0])
        if phase is not None and phase != self._plan.phase:
            yield f"phase is {str(self._fields['phase'])[:80]!r}, but the file is that of plan {self._plan}"
        said = str(self._fields.get("plan", ""))
        number = plan_of(said) or plan_of(f"0-{said}")
        if number is not None and number.number != self._plan.number:
            yield f"plan is {said[:80]!r}, but the file is that of plan {self._plan}"

    def wave(self) -> int:
        said = self._fields.get("wave", "")
        if said == "":
            return 0
        wave = phase_of(said)
        if wave is None or len(wave) > 1:
            self.problems.append(f"wave: expected a whole number, got {_short(said)}")
            return 0
        return wave[0]

    def truth(self, key: str, *, default: bool) -> bool:
        said = self._fields.get(key, "")
        if said == "":
            return default
        if not isinstance(said, str) or said.lower() not in ("true", "false", "yes", "no"):
            self.problems.append(f"{key}: expected true or false, got {_short(said)}")
            return default
        return said.lower() in ("true", "yes")

    def plans(self, key: str) -> tuple[str, ...]:
        found = self._each(key, self._texts(key), lambda text: _plan(text, self._plan), "plan")
        if self._plan.name in found:
            self.problems.append(f"{key}: the plan depends on itself")
        return tuple(name for name in found if name != self._plan.name)

    def paths(self, key: str) -> tuple[str, ...]:
        return self._each(key, self._texts(key), _path, "path of this project")

    def artifacts(self) -> tuple[str, ...]:
        """The paths of `must_haves.artifacts`: of objects with a `path`, or of plain texts."""
        musts = self._fields.get("must_haves", "")
        listed = musts.get("artifacts", "") if isinstance(musts, dict) else ""
        if not isinstance(listed, list):
            if listed != "":
                self.problems.append(f"must_haves.artifacts: expected a list, got {_short(listed)}")
            return ()
        said = [one.get("path", "") if isinstance(one, dict) else one for one in listed]
        paths = [one for one in said if isinstance(one, str) and one and " " not in one]  # the others are descriptions
        return self._each("must_haves.artifacts", paths, _path, "path of this project")

    def _texts(self, key: str) -> list[str]:
        said = self._fields.get(key, "")
        if said == "":
            return []
        found = said if isinstance(said, list) else [said]
        if isinstance(said, dict) or not all(isinstance(one, str) for one in found):
            self.problems.append(f"{key}: expected a list of texts, got {_short(said)}")
            return []
        return found

    def _each(self, key: str, said: list[str], meant: Callable[[str], str | None], what: str) -> tuple[str, ...]:
        if len(said) > MOST:
            self.problems.append(f"{key}: {len(said)} entries; only the first {MOST} count")
        found = [(text, meant(text)) for text in said[:MOST]]
        self.problems += [f"{key}: {_short(text)} is not a {what}" for text, one in found if one is None]
        return tuple(dict.fromkeys(one for _, one in found if one is not None))


def _plan(text: str, own: PlanId) -> str | None:
    """The plan that an entry of `depends_on` names.

    `01-02`, `02` (of the own phase), with the name of the phase (`01-base-02`), of the plan (`01-02-login`) or of the
    file (`01-02-PLAN.md`).
    """
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
