"""task add --from: the check boxes of a Markdown plan as tasks, in one commit."""

from __future__ import annotations

import os

from moot.api import text_files
from moot.api.answer import Answer
from moot.core.deciders.graph import Link
from moot.core.errors import Refused
from moot.core.integrity.redaction import BLANK
from moot.core.record import Record
from moot.core.task import Added, AddTask, BlockTask
from moot.core.task.plan import edges, parse, recognised
from moot.core.text import command_line, counted, one_line, option
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.task import Task
    from moot.core.task.plan import CheckBox, PlanDefect
    from moot.engine.unit_of_work import Work

_SIZE_LIMIT = 1 << 20  # bytes
_SHOWN, _LISTED = 20, 1000  # things in the message, and in its details
_ENDED = ("done", "stopped")


class PlanItem(Record):
    """A check box of the plan. `task`: its task, if it has one. `file`: the other plan that the task came from."""

    line: int
    title: str
    task: str | None = None
    needs: tuple[str, ...] = ()
    file: str | None = None


class PlanDifference(Record):
    """A task from before that differs from its check box. `command` changes the task."""

    line: int
    task: str
    field: str  # body, priority
    command: str


class PlanResult(Record):
    """What was added from a plan, what had been added before, and what is checked and has no task."""

    file: str
    added: tuple[PlanItem, ...] = ()
    known: tuple[PlanItem, ...] = ()
    skipped: tuple[PlanItem, ...] = ()
    linked: tuple[tuple[str, str], ...] = ()  # new dependencies of tasks from before, as (task, need)
    dry_run: bool = False
    differences: tuple[PlanDifference, ...] = ()
    ended: tuple[str, ...] = ()  # tasks of another plan that are done or stopped, while their box here is open


def add_from(call: Call, path: str, command: AddTask, *, dry_run: bool) -> Answer:
    """`command`: what all the tasks have in common."""
    file = path if path == "-" else _relative(call, path)
    items, defects = parse(text_files.read(path, call.cwd, _SIZE_LIMIT))
    if not items and not defects:
        raise _no_items(path)
    made = _Plan(file, items)

    def act(work: Work) -> None:
        made.add(work, command.replace(creator=call.actor(work).principal), defects)

    if dry_run:
        call.try_out(act)
        return _answer(made.result(dry_run=True))
    outcome = call.commit(act)
    if outcome.repeated:
        titles = {event.data["origin"]: event for event in outcome.events if event.type == Added.type}
        made.tasks = {origin: event.stream.partition("/")[2] for origin, event in titles.items()}
        made.before = {origin: task for origin, task in made.before.items() if origin not in titles}
    return _answer(made.result(dry_run=False))


class _Plan:
    """A plan and its tasks, by origin: those that were `before`, and the new `tasks`."""

    def __init__(self, file: str, items: list[CheckBox]) -> None:
        self.file, self.items = file, items
        self.origins = [item.origin(file) for item in items]
        self._clear()

    def _clear(self) -> None:
        self.before: dict[str, str] = {}
        self.elsewhere: dict[str, str] = {}  # tasks from another plan, and that plan
        self.tasks: dict[str, str] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.linked: list[tuple[str, str]] = []
        self.differences: list[PlanDifference] = []
        self.ended: list[str] = []

    def add(self, work: Work, command: AddTask, defects: list[PlanDefect]) -> None:
        self._clear()
        self._recognise(queries.planned_tasks(work.store))
        needs, more = edges(self.items, lambda name: work.task(name).exists)
        if defects or more:
            raise _bad_plan(self.file, [*defects, *more])
        self._number(work)
        known = work.graph(self.before.values()).needs if self.before else {}
        for item, origin, wanted in zip(self.items, self.origins, needs, strict=True):
            task = self.tasks.get(origin)
            ids = tuple(dict.fromkeys(name for need in wanted if (name := self._task(need)) is not None))
            if task is not None:
                self.needs[task] = ids
                shown = command.replace(title=item.title, body=item.body, needs=ids, origin=origin)
                work.do("task", task, shown.replace(waits=self._waits(work, ids)))
            elif origin in self.before and not item.done:
                state = work.task(self.before[origin])
                self._compare(item, state, command, [name for name in ids if name not in known.get(state.id, ())])
        for task, ids in self.needs.items():
            if ids:
                work.do("graph", "", Link(task=task, needs=ids))
        for task, need in self.linked:
            work.do("graph", "", Link(task=task, needs=(need,)))
            work.do("task", task, BlockTask(on=self._waits(work, (need,))))

    def _recognise(self, known: dict[str, str]) -> None:
        for origin, other in recognised(self.origins, known).items():
            self.before[origin] = known[other]
            if origin != other:
                self.elsewhere[known[other]] = other.rpartition("#")[0]

    def _compare(self, item: CheckBox, task: Task, command: AddTask, news: list[str]) -> None:
        """Note how an open box differs from its task from before. `news`: what it needs and the task does not."""
        if task.phase in _ENDED:
            self.ended += [task.id] if task.id in self.elsewhere else []
            return
        self.linked += [(task.id, name) for name in news]
        changes = {}
        if task.body not in (item.body, BLANK):
            changes["body"] = "--body '…'"
        if command.priority not in (AddTask.priority, task.priority):
            changes["priority"] = option("--priority", command.priority)
        for field, options in changes.items():
            edit = command_line("task edit", task.id, options=options)
            self.differences.append(PlanDifference(line=item.line, task=task.id, field=field, command=edit))

    def _waits(self, work: Work, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Those of these tasks that are not done."""
        return tuple(name for name in ids if name in self.tasks.values() or work.task(name).phase != "done")

    def _number(self, work: Work) -> None:
        """Choose the ids of the new tasks, in the order of the file."""
        number = queries.highest_number(work.store)
        for item, origin in zip(self.items, self.origins, strict=True):
            if item.done or origin in self.before:
                continue
            number += 1
            while work.task(f"task-{number:03d}").exists:
                number += 1
            self.tasks[origin] = f"task-{number:03d}"

    def _task(self, need: int | str) -> str | None:
        """The id of a task that an item needs; None for an item that is checked and has no task."""
        if isinstance(need, str):
            return need
        return self.tasks.get(self.origins[need]) or self.before.get(self.origins[need])

    def result(self, *, dry_run: bool) -> PlanResult:
        added: list[PlanItem] = []
        known: list[PlanItem] = []
        skipped: list[PlanItem] = []
        for item, origin in zip(self.items, self.origins, strict=True):
            task = self.tasks.get(origin) or self.before.get(origin)
            shown = PlanItem(
                line=item.line,
                title=item.title,
                task=task,
                needs=self.needs.get(task or "", ()),
                file=self.elsewhere.get(task or ""),
            )
            (added if origin in self.tasks else known if task else skipped).append(shown)
        return PlanResult(
            file=self.file,
            added=tuple(added),
            known=tuple(known),
            skipped=tuple(skipped),
            linked=tuple(self.linked),
            dry_run=dry_run,
            differences=tuple(self.differences),
            ended=tuple(self.ended),
        )


def _answer(result: PlanResult) -> Answer:
    would = "would be " if result.dry_run else ""
    lines = []
    for item in result.added:
        needs = f" (needs {', '.join(item.needs)})" if item.needs else ""
        lines.append(f"{item.task} {would}added: {one_line(item.title, 80)}{needs}")
    lines += [f"{task} {'would need' if result.dry_run else 'now needs'} {need}" for task, need in result.linked]
    lines += [f"{one.task} has another {one.field} than the plan: `{one.command}`" for one in result.differences]
    if result.ended:
        lines.append(f"Already ended: {_some(result.ended)}. For a new task, change the title of the box.")
    before = [_before(result)] if result.known else []
    checked = [f"{counted(len(result.skipped), 'checked item')} skipped"] if result.skipped else []
    if not result.added:
        lines.append(f"Nothing to add: {', '.join((*before, *checked))}.")
    elif before or checked:
        lines.append(", ".join((*before, *checked)))
    return Answer(result=result, say=tuple(lines))


def _before(result: PlanResult) -> str:
    files = dict.fromkeys(item.file for item in result.known if item.file is not None)
    named = _some(tuple("standard input" if file == "-" else one_line(file, 200) for file in files))
    elsewhere = sum(item.file is not None for item in result.known)
    return f"{counted(len(result.known), 'task')} added before{f' ({elsewhere} from {named})' if files else ''}"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _relative(call: Call, path: str) -> str:
    """The path relative to the root of the caller's worktree, so that the same plan in another worktree is the same."""
    return os.path.relpath(os.path.realpath(os.path.join(call.cwd, path)), os.path.realpath(call.place.root))


def _no_items(path: str) -> Refused:
    return Refused("no_items", f"{path} has no check boxes.", "Write each task as `- [ ] Title`.", file=path)


def _bad_plan(file: str, defects: list[PlanDefect]) -> Refused:
    ordered = sorted(defects, key=lambda defect: defect.line)
    said = "; ".join(f"line {defect.line}: {one_line(defect.problem, 300)}" for defect in ordered[:_SHOWN])
    name = "Standard input" if file == "-" else file
    more = f"; and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return Refused(
        "bad_plan",
        f"{name} has {counted(len(ordered), 'defect')}, so nothing was added: {said}{more}.",
        "Correct the file and try again. `--dry-run` adds nothing.",
        file=file,
        defects=[defect.full() for defect in ordered[:_LISTED]],
    )
