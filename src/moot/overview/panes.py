"""An overview as text: sections of lines, each line made of pieces with a tone. A surface decides how a tone looks.

Untrusted text is made safe and short here. A line starts with what matters most, because it is cut at the right.
"""

from __future__ import annotations

from moot.core import timestamps
from moot.core.paths import as_typed
from moot.core.principal import name_of
from moot.core.record import Record
from moot.core.text import age, cells, counted, first_few, one_line
from moot.engine.clock import local
from moot.needs_me import question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.core.claims import Claim
    from moot.overview import AgentSummary, BoardSummary, Overview, RecentEvent, TaskSummary

    Line = tuple[tuple[str, str], ...]  # pieces: text and tone

_BAR = 20
_LONG = 200
_SHORT = 40

# Tones: empty (nothing special), dim, bold, good, busy, warn, bad.
_PHASES = {"open": "", "working": "busy", "review": "warn", "done": "good", "stopped": "bad"}


class Pane(Record):
    """A section. An urgent one is shown even if it is empty, and its lines are wrapped instead of cut."""

    name: str
    title: str
    lines: tuple[Line, ...]
    tone: str = "bold"
    urgent: bool = False


def headline(found: Overview) -> Line:
    """The overview in one line."""
    problems, needed = len(found.problems), found.needs_count
    done = f", {found.tasks.done} of {counted(found.tasks.total, 'task')} done" if found.tasks.total else ""
    return (
        ("moot ", "bold"),
        (counted(problems, "problem") if problems else "no problems", "bad" if problems else "good"),
        (f", {needed} for you" if needed else "", "warn"),
        (f", {counted(len(found.agents), 'agent')} here{done}, #{found.position} ", ""),
        (one_line(found.root, _LONG), "dim"),
    )


def panes(found: Overview) -> tuple[Pane, ...]:
    """All sections, the most important one first."""
    now = timestamps.parse(found.at) or 0.0
    problems = tuple(_problem(p.message, p.remedy, "! ", "bad") for p in found.problems)
    needed = tuple(
        _problem(f"{item.id} {item.who} asks{_since(item.since, now)}: {question(item)}", item.command, "? ", "warn")
        for item in found.needs
    )
    if found.needs_count > len(found.needs):
        needed += (((f"and {found.needs_count - len(found.needs)} more: moot needs-me", "dim"),),)
    return (
        Pane("problems", f"Problems: {len(problems) or 'none'}", problems, "bad" if problems else "good", urgent=True),
        Pane(
            "needs",
            f"Needs you: {found.needs_count or 'nothing'}",
            needed,
            "warn" if needed else "dim",
            urgent=bool(needed),
        ),
        *(Pane(f"pack {view.pack}", one_line(view.title, _LONG), view.lines) for view in found.packs),
        Pane("agents", f"Agents: {len(found.agents)} here, {found.left} left", _agents(found.agents)),
        Pane("board", _board_title(found.tasks), tuple(_board(found.tasks, now))),
        Pane("claims", f"Claims: {found.claim_count}", _claims(found)),
        Pane("mail", f"Mail: {sum(box.waiting for box in found.mail)} waiting", _mail(found, now)),
        Pane("events", f"Events: {found.position}", _events(found)),
    )


def _since(at: str, now: float) -> str:
    then = timestamps.parse(at)
    return "" if then is None else f" {_coarse(now - then)}"


def _coarse(seconds: float) -> str:
    """An age in steps of ten seconds: a line that changes every second is unreadable, and costly on a slow line."""
    if seconds < 10:
        return "now"
    return age(seconds // 10 * 10)


def _problem(message: str, remedy: str, mark: str, tone: str) -> Line:
    return ((mark, tone), (one_line(message, _LONG), tone), (f"  → {one_line(remedy, _LONG)}", "dim"))


# --- agents -----------------------------------------------------------------------------------------------------------


def _agents(agents: Iterable[AgentSummary]) -> tuple[Line, ...]:
    rows = []
    for agent in sorted(agents, key=lambda one: (not one.quiet, one.name.lower())):
        seen = _seen(agent)
        tone = "bad" if agent.quiet else "good" if seen == "now" else ""
        holds = [*agent.tasks, *([counted(agent.claims, "claim")] if agent.claims else [])]
        rows.append(
            (
                (agent.name, "bold"),
                (seen, tone),
                (", ".join(agent.roles), ""),
                (", ".join(holds), "busy"),
                (f"mail {agent.mail}" if agent.mail else "", "warn"),
                (one_line(" ".join(filter(None, (agent.client, _tree(agent.worktree)))), _LONG), "dim"),
            )
        )
    return _columns(rows)


def _seen(agent: AgentSummary) -> str:
    if agent.silent_for is None:
        return "not seen"
    if agent.quiet:
        return f"silent {age(agent.silent_for)}"
    seen = _coarse(agent.silent_for)
    return seen if seen == "now" else f"{seen} ago"


def _tree(path: str | None) -> str:
    """The name of a worktree. The main worktree has none."""
    return (path or "").strip("/.").rpartition("/")[2]


def _columns(rows: Sequence[Line]) -> tuple[Line, ...]:
    """The rows as lines with aligned columns, two spaces apart. Empty columns are left out; the last one is not cut."""
    cleaned = [[*((one_line(text, _SHORT), tone) for text, tone in row[:-1]), row[-1]] for row in rows]
    widths = [max(cells(text) for text, _ in column) for column in zip(*cleaned, strict=True)]
    return tuple(
        tuple(
            (text + " " * (width - cells(text) + 2), tone)
            for (text, tone), width in zip(row, widths, strict=True)
            if width
        )
        for row in cleaned
    )


# --- the board --------------------------------------------------------------------------------------------------------


def _board_title(work: BoardSummary) -> str:
    return f"Board: {work.done} of {work.total} done" if work.total else "Board: no tasks yet"


def _board(work: BoardSummary, now: float) -> Iterable[Line]:
    if not work.total:
        return
    full = _BAR * work.done // work.total
    pieces = [("█" * full, "good"), ("░" * (_BAR - full), "dim"), ("  ", "")]
    for count in work.counts:
        blocked = f" ({count.blocked} blocked)" if count.blocked else ""
        pieces.append((f"{count.count} {one_line(count.state, _SHORT)}{blocked}  ", _PHASES.get(count.phase, "")))
    yield tuple(pieces)
    rows = [_task(task, task.state, _since(task.since, now)) for task in (*work.working, *work.review)]
    rows += [_task(task, "ready", "") for task in work.ready]
    rows += [_task(task, "blocked", "") for task in work.blocked]
    yield from _columns(rows)
    hidden = sum(count.count for count in work.counts if count.phase in ("open", "working", "review")) - len(rows)
    if hidden > 0:
        yield ((f"and {hidden} more: moot board", "dim"),)


def _task(task: TaskSummary, state: str, since: str) -> Line:
    tone = {"ready": "", "blocked": "dim"}.get(state, "") if task.phase == "open" else _PHASES.get(task.phase, "")
    dim = "dim" if state == "blocked" else ""
    about = f"needs {', '.join(task.waits)}" if dim else " ".join(filter(None, (task.who, since.strip())))
    marks = f"{'!' if task.flagged else ''}{task.priority if task.priority != 'medium' else ''}"
    tries = f" try {task.attempt}" if task.attempt > 1 else ""
    return (
        (task.id, "bold" if task.phase != "open" else ""),
        (state, tone),
        (about, dim),
        (f"{marks}{tries}".strip(), "warn"),
        (one_line(task.title, _LONG), dim),
    )


# --- claims, mail and events ------------------------------------------------------------------------------------------


def _claims(found: Overview) -> tuple[Line, ...]:
    rows = [_claim(claim) for claim in found.claims]
    more = found.claim_count - len(rows)
    return (*_columns(rows), *(((f"and {more} more: moot claims", "dim"),),) * (more > 0))


def _claim(claim: Claim) -> Line:
    return (
        (name_of(claim.holder), "bold"),
        (first_few(as_typed(claim.paths), 2), ""),
        ("shared" if claim.mode == "shared" else "", "busy"),
        (one_line(" ".join(filter(None, (claim.task, claim.reason))), _LONG), "dim"),
    )


def _mail(found: Overview, now: float) -> tuple[Line, ...]:
    rows = [
        (
            (box.name, "bold"),
            (str(box.waiting), "warn"),
            (f"oldest {_since(box.oldest, now).strip()}", "dim"),
        )
        for box in found.mail
    ]
    return _columns(rows)


def _events(found: Overview) -> tuple[Line, ...]:
    """The newest first, so that it is still shown when there is little room."""
    names = {agent.name.lower(): agent.name for agent in found.agents}
    return tuple(
        (
            (f"{local(event.at)[11:19]} ", "dim"),
            (f"{one_line(event.by, _SHORT)} ", "bold"),
            (f"{one_line(event.type, _SHORT)} ", "busy"),
            (f"{one_line(_thing(event, names), _SHORT)} ", "dim"),
            (one_line(event.text, _LONG), ""),
        )
        for event in reversed(found.events)
    )


def _thing(event: RecentEvent, names: dict[str, str]) -> str:
    """What the event is about. The streams of agents and mailboxes are in lower case."""
    kind, _, key = event.stream.partition("/")
    if kind not in ("agent", "mailbox"):
        return key
    return event.by if event.by.lower() == key else names.get(key, key)
