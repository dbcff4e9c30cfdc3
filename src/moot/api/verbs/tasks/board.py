"""board, ready, task show: read tasks."""

from __future__ import annotations

from moot.api.answer import Answer, Table, warn_of_more
from moot.api.catalogue import Param, Verb
from moot.api.hints import typed
from moot.core import timestamps
from moot.core.deciders.task import may_review
from moot.core.errors import Refused, Usage
from moot.core.lifecycle import PHASES
from moot.core.paths import as_typed
from moot.core.principal import Actor, name_of, same_agent
from moot.core.record import Record
from moot.core.task import Noted, verdicts
from moot.core.task.refusals import unknown
from moot.core.text import age, command_line, counted, fence, first_few, one_line, option
from moot.engine.clock import local
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from moot.api.call import Call
    from moot.api.message_view import Letter
    from moot.core.deciders.message import Message
    from moot.core.deciders.receipt import Receipt
    from moot.core.lifecycle import Lifecycle
    from moot.core.task import Task
    from moot.views.store import Store


_PAGE = 500  # events
_NOTES = 20  # of a task that are shown
_RUNS = 20  # the same of its checks
_FILES = 20


class Note(Record):
    """A comment on a task."""

    by: str
    at: str
    text: str


class Submission(Record):
    """Where the work in review is, as far as moot knows: of its author."""

    claims: tuple[str, ...] = ()  # paths
    worktree: str | None = None
    commit: str | None = None
    changed: tuple[str, ...] = ()  # files that differ from that commit


class Story(Record):
    """A task with related information. `via`: the file of the repository that assigned it, if a file did."""

    task: Task
    messages: tuple[str, ...]
    dependents: tuple[str, ...]
    next: tuple[str, ...]
    silent_for: float | None
    via: str | None = None
    report: Letter | None = None  # the report in force
    runs: tuple[Receipt, ...] = ()  # the checks of its current attempt, oldest first
    notes: tuple[Note, ...] = ()  # the newest, oldest first
    more_notes: int = 0  # older ones
    submission: Submission | None = None  # of a task in review


def _assigned_via(task: Task, messages: list[Message]) -> str | None:
    """The file that started the current attempt. It is shown because anybody can commit a file to a repository."""
    first = next((message for message in messages if message.attempt == task.attempt), None)
    return f"file {first.source}" if first is not None and first.source else None


def _notes(call: Call, task: Task) -> tuple[Note, ...]:
    """The newest notes. The state has only their number, so they are read from the log."""
    found: list[Note] = []
    position = 0
    while task.notes and (events := call.engine.log.read(position, _PAGE, f"task/{task.id}")):
        found += [Note(e.data["who"], e.at, e.data["text"]) for e in events if e.type == Noted.type]
        found = found[-_NOTES:]
        position = events[-1].position
    return tuple(found)


def _submission(call: Call, task: Task) -> Submission:
    """The author's claims, and the content of its worktree, which other agents may have changed since.

    The check of the attempt says in which worktree the work is; without one, it is where the author joined.
    """
    from moot.api.receipts import content_of
    from moot.place import worktrees

    author, store = task.author or "", call.engine.read()
    live = states.claims(store)[0].live.values()
    claims = as_typed(path for claim in live if same_agent(claim.holder, author) for path in claim.paths)
    if task.receipt:
        checked = states.state(store, "receipt", task.receipt)[0]
    else:
        runs = [run for run in _runs(store, task) if same_agent(run.by, author)]
        checked = max(runs, key=lambda run: run.at, default=None)
    place, commit = states.agent(store, name_of(author))[0].worktree, checked.commit if checked else None
    trees = [
        tree for tree in worktrees(call.place) if (tree.root == checked.worktree if checked else tree.name == place)
    ]
    root = trees[0].root if trees else None
    if root is None or call.past is not None:
        return Submission(tuple(claims), commit=commit)
    tree = content_of(call, root)
    changed = tuple(line.split(" ", 2)[-1] for line in tree.differs or ())
    return Submission(tuple(claims), root, tree.commit, changed)


def _runs(store: Store, task: Task) -> Iterator[Receipt]:
    for kind, name in queries.things_of_task(store, task.id):
        if kind == "receipt":
            receipt: Receipt = states.state(store, kind, name)[0]
            if receipt.attempt in (None, task.attempt):
                yield receipt


def _report_lines(story: Story) -> Iterator[str]:
    """The report in force, what moot noticed about it, and the checks that were run before it."""
    from shlex import join

    from moot.api.message_view import evidence_lines

    if story.report is not None:
        yield f"  report: {story.report.id} from {story.report.sender} at {local(story.report.at)}"
        yield from (f"    ! {one_line(flag, 500)}" for flag in story.report.flags)
        yield from (f"    {one_line(line, 500)}" for line in evidence_lines(story.report))
    for run in story.runs[-_RUNS:]:
        yield f"  run: {run.id} {run.outcome} after {run.seconds:g} s: {one_line(join(run.argv), 200)}"
    if len(story.runs) > _RUNS:
        more = command_line("receipts", options=option("--task", story.task.id))
        yield f"  {counted(len(story.runs) - _RUNS, 'earlier run')}: {more}"


def _note_lines(story: Story) -> Iterator[str]:
    if story.more_notes:
        yield f"  {counted(story.more_notes, 'older note')}: {command_line('explain', story.task.id)}"
    for note in story.notes:
        yield f"  note by {one_line(name_of(note.by), 80)} at {local(note.at)}:"
        yield from fence(note.text).splitlines()


def show(call: Call, task: str) -> Answer:
    store = call.engine.read()
    found, _ = states.task(store, task)
    if not found.exists:
        raise unknown(task, queries.task_ids(store))
    from moot.api.message_view import of_message  # imported late: the board does not need it

    life, messages = lifecycle_of(call, found), queries.messages_of_task(store, task)
    notes = _notes(call, found)
    story = Story(
        task=found,
        messages=tuple(m.id for m in messages),
        via=_assigned_via(found, messages),
        dependents=tuple(queries.dependents(store, task)),
        next=tuple(f"{e.verb} → {e.target}" for e in life.edges if e.source == found.state),
        silent_for=call.silent_for(found.holder) if found.holder else None,
        report=of_message(states.message(store, found.report)[0]) if found.report else None,
        runs=tuple(_runs(store, found)),
        notes=notes,
        more_notes=found.notes - len(notes),
    )
    if found.phase == "review":
        story = story.replace(submission=_submission(call, found))
    work, judging = story.submission or Submission(), _judging(call, life, found)
    lines = [f"{found.id} {found.state} (attempt {found.attempt}) {one_line(found.title, 80)}"]
    if found.body:
        lines += fence(found.body).splitlines()
    facts = {
        "priority": found.priority,
        "created by": name_of(found.creator),
        "assigned to": found.assigned or "",
        "held by": f"{found.holder} (token {found.token})" if found.holder else "",
        "submitted by": found.author or "",
        "receipt": _receipt(call, found.receipt) if found.receipt else "",
        "claims": first_few(work.claims, _FILES),
        "worktree": work.worktree or "",
        "commit": work.commit or "",
        "changed files": first_few(work.changed, _FILES),
        "waits for": ", ".join(found.waits),
        "flagged": found.flagged or "",
        "messages": ", ".join(story.messages),
        "assigned via": one_line(story.via or "", 200),
        "next": ", or ".join(judging) or ", ".join(story.next),
    }
    lines += [f"  {name}: {one_line(value, 2000)}" for name, value in facts.items() if value]
    lines += _report_lines(story)
    lines += _note_lines(story)
    for step in found.setbacks:
        on = f" on {step.report}" if step.report else ""
        said = f"attempt {step.attempt}: {step.verb}{on} by {name_of(step.by)}: {step.reason or ''}"
        lines.append(f"  {one_line(said, 150)}")
    return Answer(result=story, say=tuple(lines))


def _judging(call: Call, life: Lifecycle, task: Task) -> list[str]:
    """The commands with which the caller can judge the task."""
    me = call.me()
    person = Actor(principal=f"person:{call.login}") if call.caller.person else None
    actor = Actor(principal=me.principal, roles=me.roles) if me is not None and me.here else person
    if task.phase != "review" or actor is None or not may_review(life, task, actor):
        return []
    return [typed(call, command) for command in verdicts(life, task).values()]


def _receipt(call: Call, name: str) -> str:
    from moot.api.verbs.tasks.checks import show as receipt_of

    return receipt_of(call, name).say[0]


def board(call: Call, state: str | None, all: bool, mine: bool) -> Answer:  # noqa: A002
    if mine:
        return _mine(call, state, all=all)
    store = call.engine.read()
    lives = call.engine.lifecycles.values()
    known = [*PHASES, *(name for life in lives for name in life.names if name not in PHASES)]
    if state is not None and state not in known:
        raise Refused(
            "unknown_state", f"{state[:80]!r} is not a task state.", f"Known: {', '.join(dict.fromkeys(known))}."
        )
    tasks = queries.tasks(store, state, ended=all or state is not None)
    if state is None and not all:
        tasks += _rejected(store, lives)
    counts = queries.counts(store)
    gone = _gone(store, tasks)
    rows: tuple[tuple[str, ...], ...] = tuple(_row(task, gone) for task in tasks)
    lines = list(map(_line, rows))
    columns: tuple[str, ...] = _COLUMNS
    if state is not None:  # then how long each task has been in it matters
        spans = [_in_state(call, task) for task in tasks]
        lines = [f"{line} ({span})" for line, span in zip(lines, spans, strict=True)]
        columns, rows = (*_COLUMNS, "for"), tuple((*row, span) for row, span in zip(rows, spans, strict=True))
    total = ", ".join(f"{n} {name}" for name, _, n, _ in counts)
    lines.append(total or "No tasks yet: moot task add 'Title'")
    table = Table(columns, rows, title=f"Board: {total}")
    result = {"tasks": tasks, "counts": {name: n for name, _, n, _ in counts}}
    return Answer(result=result, say=tuple(lines), table=table if rows else None)


def _rejected(store: Store, lives: Iterable[Lifecycle]) -> list[Task]:
    """Tasks that have ended for now: they wait until somebody opens them again."""
    return [
        task
        for life in lives
        for state in life.retried
        for task in queries.tasks(store, state, ended=True)
        if task.lifecycle == life.name
    ]


def _in_state(call: Call, task: Task) -> str:
    """The attempt, and the time that the task has been in its state."""
    passed = call.clock.wall_seconds() - (timestamps.parse(task.since) or 0.0)
    return f"attempt {task.attempt}, {age(max(0.0, passed))}"


_COLUMNS = ("task", "state", "prio", "try", "who", "title", "waits for")


def _row(t: Task, gone: Container[str]) -> tuple[str, ...]:
    return (
        t.id,
        ("waits" if t.waits and t.phase == "open" else t.state) + (" !" if t.flagged else ""),
        t.priority if t.priority != "medium" else "",
        str(t.attempt) if t.attempt > 1 else "",
        one_line(name_of(t.holder or t.author or "") or _for(t, gone), 80),
        one_line(t.title, 60),
        one_line(", ".join(t.waits), 200),
    )


def _line(row: tuple[str, ...]) -> str:
    return f"{row[0]} {row[1]}{f' {row[4]}' if row[4] else ''} {row[5]}{f' (needs {row[6]})' if row[6] else ''}"


def _mine(call: Call, state: str | None, *, all: bool) -> Answer:  # noqa: A002
    from moot.api.verbs.tasks.mine import HEADINGS, groups

    if state is not None or all:
        raise Usage("bad_arguments", "--mine cannot be combined with --state or --all.", "Use it alone.")
    found = groups(call, queries.tasks(call.engine.read(), None, ended=False))
    lines: list[str] = []
    rows: list[tuple[str, ...]] = []
    for name, tasks in found.items():
        own = [_row(task, ()) for task in tasks]
        rows += [(name, *row) for row in own]
        lines += [HEADINGS[name], *map(_line, own)] if own else []
    table = Table(("what", *_COLUMNS), tuple(rows), title="Yours") if rows else None
    result = {
        "tasks": [task for tasks in found.values() for task in tasks],
        "counts": {name: n for name, _, n, _ in queries.counts(call.engine.read())},
        "mine": {name: [task.id for task in tasks] for name, tasks in found.items()},
    }
    return Answer(result=result, say=tuple(lines) or ("No task is yours: moot ready",), table=table)


def ready(call: Call, limit: int) -> Answer:
    store, me = call.engine.read(), call.caller.agent
    assigned = [task for task in queries.assigned_tasks(store) if not task.waits]
    kept = _kept_for_others(call, assigned, me) if assigned and me is not None else []
    own = [task for task in assigned if me is not None and same_agent(task.assigned or "", me)]
    besides = [*kept, *(task.id for task in own)]
    tasks = [*own[:limit], *queries.ready(store, max(0, limit - len(own)), besides)]
    warn_of_more(call, limit, len(own) + queries.count_ready(store, besides) - len(tasks), "task")
    gone = _gone(store, tasks)
    rows = tuple((t.id, t.priority, _for(t, gone), one_line(t.title, 70)) for t in tasks)
    lines = [" ".join(filter(None, row)) for row in rows] or ["Nothing is ready."]
    if kept:
        lines.append(f"{counted(len(kept), 'task')} assigned to others: moot board")
    table = Table(("task", "priority", "assigned", "title"), rows, title="Ready") if rows else None
    return Answer(result=tasks, say=tuple(lines), table=table)


def _kept_for_others(call: Call, assigned: list[Task], me: str) -> list[str]:
    """Those of the assigned tasks that only another agent can claim."""
    from moot.api.verbs.tasks.claiming import kept_for_others

    store = call.engine.read()

    def silences(principals: list[str]) -> dict[str, float]:
        return {principal: call.silent_for(principal) or 0.0 for principal in dict.fromkeys(principals)}

    return kept_for_others(lambda name: states.agent(store, name)[0], silences, assigned, me)


def _gone(store: Store, tasks: list[Task]) -> set[str]:
    """The agents that have left and have tasks assigned. Such an assignment keeps nobody out."""
    names = {task.assigned for task in tasks if task.assigned}
    return {name for name in names if states.agent(store, name)[0].gone}


def _for(task: Task, gone: Container[str]) -> str:
    return f"for {task.assigned}" if task.assigned and task.phase == "open" and task.assigned not in gone else ""


def lifecycle_of(call: Call, task: Task) -> Lifecycle:
    if task.lifecycle not in call.engine.lifecycles:
        raise Refused(
            "unknown_lifecycle",
            f"{task.id} follows the lifecycle {task.lifecycle[:80]!r}, which no active pack provides.",
            f'Enable the pack in moot.toml: packs = ["{task.lifecycle.partition("/")[0]}"].',
        )
    return call.engine.lifecycles[task.lifecycle]


VERBS = (
    Verb(
        "task show",
        "Show a task: its holder, history, messages and possible next steps.",
        show,
        kind="look",
        params=(Param("task", "The task.", positional=True, required=True),),
        examples=("moot task show task-001",),
        writes=False,
    ),
    Verb(
        "board",
        "List unfinished tasks, with the number of tasks in each state.",
        board,
        kind="look",
        params=(
            Param("state", "Only this state or phase (open, working, review, done, stopped)."),
            Param("all", "Include tasks that are done or stopped.", type="flag"),
            Param(
                "mine", "Only what you hold, what is assigned to you, what you can review or submitted.", type="flag"
            ),
        ),
        examples=("moot board", "moot board --state review", "moot board --mine"),
        writes=False,
    ),
    Verb(
        "ready",
        "List tasks that can be started now, most urgent first.",
        ready,
        kind="look",
        params=(Param("limit", "Maximum number of tasks.", type="int", default=100),),
        examples=("moot ready",),
        detail="An agent sees the tasks assigned to it first, and none that only another agent can claim.",
        writes=False,
    ),
)
