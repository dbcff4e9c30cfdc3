"""Takes a changed `queue.json` inside a commit: new tasks, edits and moves by the team lead.

What is refused is held, undone by a savepoint. A status that cannot be reached now is tried again after the mailboxes
have been absorbed: the report that the lead approves may have been written at the same moment.
"""

from __future__ import annotations

from moot.api.answer import Notice
from moot.api.protocol.form import Taken
from moot.api.protocol.held_entries import HeldEntries, as_written
from moot.api.protocol.journal_lines import WARN, note
from moot.core.deciders.document import ChangeDocument, OpenDocument
from moot.core.errors import MootError, Refused
from moot.core.task import AddTask, DescribeTask, EditTask, MoveTask, refusals
from moot.core.text import counted
from moot.packs.orchestrator import adoption
from moot.packs.orchestrator.queue_entries import FIXED, OPTIONAL, defects_of, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.protocol.form import Instance
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.queue_file import QueueContent, QueueForm
    from moot.packs.orchestrator.queue_news import QueueChange, QueueNews

_MOST = 500  # entries in one commit
_EDITED = {"title": "title", "description": "body", "priority": "priority"}  # keys of an entry, fields of a task
_MOVING = ("status", "rejectionReason")


class Edits:
    """Takes the changes of one content, in one commit."""

    def __init__(self, form: QueueForm, work: Work, one: Instance, content: QueueContent) -> None:
        self._form, self._work, self._one, self._content = form, work, one, content
        self._held: dict[str, HeldEntries] = {}
        self._notices: list[Notice] = []
        self._refused: list[MootError] = []
        self._added: dict[tuple[str, int], str] = {}  # the ids of tasks that are adopted, by the place of their entry

    def take(self, news: QueueNews) -> Taken:
        put_off: list[QueueChange] = []
        done = 0
        for change in news.changes[:_MOST]:
            error = change.error or self._taken(change, news)
            if error is not None and error.code == "too_many_events" and self._work.drafts:
                break  # the commit is full; the entry goes into the next one
            done += 1
            if error is None and news.adopting and not news.last:
                put_off += self._begun(change)
            elif error is not None and "status" in change.keys and not news.last:
                put_off.append(change)
            elif error is not None:
                self._hold(change, error)
        if news.foreign is not None:
            self._keep(news.foreign)
        if news.stale:
            self._tell_of_stale(news.stale)
        rest = news.changes[done:]
        if news.adopting and (put_off or (news.last and not rest)):
            adoption.mark(self._form, self._work, begun=bool(put_off))
        return Taken(
            notices=tuple(self._notices),
            refused=tuple(self._refused),
            rest=news.replace(changes=rest, foreign=None, stale=()) if rest else None,
            later=news.replace(changes=tuple(put_off), foreign=None, stale=(), last=True) if put_off else None,
        )

    def _taken(self, change: QueueChange, news: QueueNews) -> MootError | None:
        try:
            with self._work.savepoint():
                self._check(change)
                if not change.keys:
                    self._add(change, news)
                elif news.adopting and "status" in change.keys:
                    self._adopt(change, news)
                else:
                    self._change(change)
        except MootError as error:
            if error.kind == "unavailable":
                raise  # the entry is valid: it stays in the file, and the next call takes it
            return error
        return None

    def _check(self, change: QueueChange) -> None:
        wrong = defects_of(self._form, change.entry)
        if change.keys:  # a known task: what the writer did not change does not matter
            wrong = [defect for defect in wrong if defect.path.partition(".")[0].partition("[")[0] in change.keys]
        else:
            wrong = [defect for defect in wrong if defect.path not in _MOVING]  # it becomes pending, whatever it says
        if wrong:
            raise Refused(
                "bad_entry",
                f"The entry has {counted(len(wrong), 'defect')}: {'; '.join(d.sentence for d in wrong)}.",
                f"Correct all of them in {self._form.spec.path}.",
                defects=[d.full() for d in wrong],
            )

    # --- new tasks ----------------------------------------------------------------------------------------------------

    def _add(self, change: QueueChange, news: QueueNews) -> None:
        from moot.api.verbs.tasks.tasks import next_id

        entry = change.entry
        name = entry.get("id") or next_id(self._work)
        left_out = [key for key in (*FIXED, *_EDITED, *_MOVING) if not (news.adopting and key == "createdAt")]
        command = AddTask(
            title=entry["title"],
            creator=self._form.actor.principal,
            body=entry.get("description", ""),
            priority=entry.get("priority", "medium"),
            ttl=news.ttl,
            extra={
                key: value
                for key, value in entry.items()
                if key not in left_out and not (value is None and key in OPTIONAL)
            },
            lifecycle=self._form.spec.pack,
            origin=None if entry.get("id") else f"{self._form.spec.path}#{digest(entry)}",
        )
        added = self._work.do("task", name, command)
        if news.adopting:
            adoption.begin(self._work, added, adoption.recorded(change))
            self._added[change.list, change.place] = name

    def _begun(self, change: QueueChange) -> list[QueueChange]:
        """The rest of an adoption, for after the mailboxes."""
        if change.keys and "status" not in change.keys:
            return []
        name = change.task or self._added[change.list, change.place]
        state = self._work.task(name).state
        return [] if adoption.recorded(change) == state else [change.replace(keys=("status",), task=name)]

    def _adopt(self, change: QueueChange, news: QueueNews) -> None:
        """Finish the adoption of a task: after the mailboxes, because its report may still be there."""
        if news.last:
            task, wanted = self._work.known_task(change.task), adoption.recorded(change)
            adoption.finish(self._work, task, wanted, change.entry.get("rejectionReason"))
        elif edited := tuple(key for key in change.keys if key not in _MOVING):
            self._change(change.replace(keys=edited))

    # --- changed tasks ------------------------------------------------------------------------------------------------

    def _change(self, change: QueueChange) -> None:
        entry, keys = change.entry, set(change.keys)
        task = self._work.known_task(entry["id"])
        steps = [self._edit, self._move]
        if task.phase in ("done", "stopped"):
            steps.reverse()  # a task that has ended can be edited once it is pending again
        for step in steps:
            step(self._work.task(task.id), entry, keys)

    def _edit(self, task: Task, entry: Mapping[str, Any], keys: set[str]) -> None:
        fields = {field: entry[name] for name, field in _EDITED.items() if name in keys}
        if fields:
            self._work.do("task", task.id, EditTask(actor=self._form.actor, **fields))
        extra = {name: entry[name] for name in keys if name not in (*_EDITED, *_MOVING)}
        if "platform" in extra and task.extra.get("platform") is not None and task.phase != "open":
            raise Refused(
                "platform_differs",
                f"{task.id} is for the platform {task.extra['platform']}, and was already started.",
                "Change the platform of a task while it is pending, or add another task.",
                task=task.id,
                expected=task.extra["platform"],
                found=extra["platform"],
            )
        if extra:
            self._work.do("task", task.id, DescribeTask(extra=extra))

    def _move(self, task: Task, entry: Mapping[str, Any], keys: set[str]) -> None:
        if "status" not in keys:
            if "rejectionReason" in keys:
                raise Refused(
                    "reason_without_rejection",
                    f"{task.id} has a new rejectionReason, but its status is not changed to rejected.",
                    "Set both together. The reason of an earlier rejection cannot be changed.",
                    task=task.id,
                )
            return
        wanted = entry["status"]
        if wanted == task.state:
            return  # a report that was absorbed meanwhile has done it
        life = self._work.lifecycle(task.lifecycle)
        verb = refusals.verb_to(life, task, wanted)
        edge = life.edge(verb, task.state)
        if edge is not None and "report" in edge.needs:
            raise Refused(
                "report_missing",
                f"{task.id} has no report of this attempt, so it cannot be {wanted}.",
                "The developer's report moves it there.",
                task=task.id,
            )
        reason = entry.get("rejectionReason") if verb == "reject" else None
        if verb == "reject" and not (reason or "").strip():
            raise Refused(
                "reason_missing",
                f"{task.id} is to be rejected without a reason.",
                "Set rejectionReason together with the status.",
                task=task.id,
            )
        # The file has no place for the reason of an approval: the edit counts as one, and the doubts are recorded.
        flags = self._form.packs.move(self._work, task, verb, reason or f"set in {self._form.spec.path}")
        self._work.do("task", task.id, MoveTask(verb=verb, actor=self._form.actor, reason=reason, flags=flags))

    # --- the rest -------------------------------------------------------------------------------------------------

    def _hold(self, change: QueueChange, error: MootError) -> None:
        self._refused.append(error)
        held = self._held.get(change.list)
        if held is None:
            content, name = self._content, change.list
            held = HeldEntries(
                self._form.spec,
                ("id",),
                self._work.store,
                lambda: as_written(content.data, name),
                to=f"@{self._form.actor.roles[0]}",
            )
            self._held[change.list] = held
        if identity := held.hold(self._work, change.entry, change.place, error):
            said = f"an entry of {self._one.name} is held: {error.message} {error.remedy}"
            self._notices.append(Notice("entry_held", f"{identity}: {said}"))

    def _keep(self, leaves: Mapping[str, Any]) -> None:
        """Keep the foreign keys of the file. A key that is left out stays."""
        work, form = self._work, self._form
        try:
            with work.savepoint():
                if not work.state("document", form.document).status:
                    work.do(
                        "document", form.document, OpenDocument(mirror=f"{form.spec.pack}/{form.spec.name}", leaves={})
                    )
                work.do("document", form.document, ChangeDocument(author=form.actor.roles[0], set=leaves))
        except Refused as error:
            self._notices.append(Notice("change_refused", f"{self._one.name}: {error.message} {error.remedy}"))

    def _tell_of_stale(self, tasks: tuple[str, ...]) -> None:
        listed = ", ".join(tasks)
        said = f"is older than the log for {listed} (updatedAt); nothing was taken from these entries"
        note(self._work, self._form.spec.pack, WARN, f"{listed}: {self._one.path} {said}")
        self._notices.append(Notice("queue_stale", f"{self._one.name} {said}."))
