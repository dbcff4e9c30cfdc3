"""Syncs mirror files with the log: read all mirrors in all worktrees, absorb, render, read again.

One sync at a time per workspace. A command never waits for another writer of a file. A changed file is never
overwritten before its content is absorbed or held (`moot.mirrors.absorbing`). Only files that changed, or whose streams
moved, are rendered (`moot.mirrors.rendering`).

Each file is checked once per sync, and read only if its signature does not prove that it is unchanged.

A sync at the start of a call, or of the watcher, also does what the clock has made due (`moot.api.protocol.due`).
"""

from __future__ import annotations

import os

from moot.api.answer import Notice
from moot.api.protocol.form import Malformed
from moot.api.protocol.mirrors import DocumentFile, Mirrors
from moot.core.claims import STREAM
from moot.core.errors import Refused
from moot.core.strict_json import Torn
from moot.mirrors.file_reading import Changed, Missing, Unchanged, Unreadable
from moot.mirrors.forms import form_of
from moot.mirrors.lock import MirrorLock
from moot.mirrors.sync_context import QuietEvents, Seen, SyncContext, showing
from moot.place import worktrees
from moot.place.private_files import check_folders
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from moot.api.call import Call
    from moot.api.protocol import Packs
    from moot.api.protocol.form import Form, Instance
    from moot.api.protocol.mirrors import Adoption
    from moot.core.event import Event
    from moot.mirrors.files import MirrorFile
    from moot.views.store import Store

_TURN = 5.0  # seconds to wait for the lock
_ROUNDS = 8  # maximum rounds per sync, while others keep writing
_PAUSE = 1.0  # seconds between checks of time limits in one process
_AWAY = 1000  # files whose worktree does not exist now and that are remembered: it may come back


class FileMirrors(Mirrors):
    """The mirrors of all active packs in all worktrees."""

    def __init__(self, packs: Packs) -> None:
        self._packs = packs
        self._made: list[Form] = []
        self._quiet = QuietEvents()
        self._checked = float("-inf")  # when time limits were last checked

    def sync(
        self,
        call: Call,
        news: Sequence[Event] | None = None,
        *,
        patient: bool = False,
        everything: bool = False,
        also: Iterable[str] = (),
    ) -> tuple[Notice, ...]:
        changed = frozenset(event.stream for event in news or () if event.stream.startswith("document/"))
        changed |= {f"document/{name}" for name in also}
        among = None if patient or everything else changed
        try:
            forms = self._forms()
            if news is not None and not showing(news, forms):
                self._quiet.note(news)
                return ()
            sync = _Sync(call, forms, self._quiet, patient=patient, among=among)
            found = sync.run()
            if sync.news and call.engine.requests is not None:
                call.remind_of_effects(sync.news)
            if news is None and self._may_be_due(call):
                found += self._do_what_is_due(call, forms)
            return tuple(dict.fromkeys(found))
        except OSError as error:  # a file next to the log must not make a command fail
            why = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            return (Notice("mirror_pending", f"The mirrors cannot be synced now ({why}); a later command syncs them."),)
        except Refused as error:
            if error.code != "pack_failed":
                raise
            return (Notice("mirror_pending", f"The mirrors cannot be kept now. {error.message}"),)

    def adopt(self, call: Call) -> Adoption:
        from moot.mirrors.adopting import adopted_since

        start = call.engine.log.head()
        for notice in self.sync(call):
            call.warn(notice.code, notice.message)
        return adopted_since(call, start)

    def _may_be_due(self, call: Call) -> bool:
        """Whether a pack has time limits, and tasks or claims that they may concern. At most once a second."""
        now = call.clock.monotonic()
        if now - self._checked < _PAUSE or not any("due" in pack.parts for pack in self._packs.packs):
            return False
        self._checked = now
        store = call.engine.store
        at_work = any(phase in ("working", "review") for _, phase, _, _ in queries.counts(store))
        claims = store.row("entity", STREAM)
        return at_work or (claims is not None and claims[1] != "{}")

    def _do_what_is_due(self, call: Call, forms: list[Form]) -> list[Notice]:
        from moot.api.protocol.due import do_what_is_due  # imported late: most calls find no task in work

        return _Sync(call, forms, self._quiet, patient=True).run() if showing(do_what_is_due(call), forms) else []

    def folders(self, call: Call) -> list[tuple[str, str]]:
        files = SyncContext(call, self._forms(), among=None).files(call.engine.read())
        found = {(os.path.dirname(file.path), file.root): None for _, _, file in files}
        for tree in worktrees(call.place):
            root = os.path.realpath(tree.root)
            for form in self._forms():
                fixed = form.spec.path.partition("{")[0]
                found[os.path.dirname(os.path.join(root, fixed)), root] = None
        common = call.place.common
        return [*found, *([(os.path.join(common, "worktrees"), common)] if common else [])]

    def kept(self, call: Call) -> list[str]:
        check_folders(call.place.state, "mirrors", "keep")
        files = SyncContext(call, self._forms(), among=None).files(call.engine.read())
        return [kept.path for _, _, file in files for kept in file.kept()]

    def restore(self, call: Call, document: str) -> tuple[Notice, ...]:
        stream = frozenset({f"document/{document}"})
        sync = _Sync(call, self._forms(), self._quiet, patient=False, among=stream, restore=document)
        return tuple(sync.run())

    def document_files(self, call: Call, document: str | None = None) -> Iterator[DocumentFile]:
        store = call.engine.read()
        among = None if document is None else frozenset({f"document/{document}"})
        for form, one, file in SyncContext(call, self._forms(), among=among).files(store):
            shown = form.document_of(one)
            if shown and document in (None, shown):
                yield _examined(form, store, one, file)

    def shows(self, call: Call, document: str) -> bool:
        context = SyncContext(call, self._forms(), among=frozenset({f"document/{document}"}))
        found = [file for form, one, file in context.files(call.engine.read()) if form.document_of(one) == document]
        return bool(found) and all(os.path.lexists(file.path) for file in found)

    def _forms(self) -> list[Form]:
        if not self._made:  # a pack's own form can fail here
            self._made = [form_of(spec, self._packs) for spec in self._packs.mirrors]
        return self._made


class _Sync:
    """The sync of one call."""

    def __init__(
        self,
        call: Call,
        forms: list[Form],
        quiet: QuietEvents,
        *,
        patient: bool,
        among: frozenset[str] | None = frozenset(),
        restore: str = "",
    ) -> None:
        self._call, self._engine, self._quiet = call, call.engine, quiet
        self._context = SyncContext(call, forms, patient=patient, among=among)
        self._restore = restore  # the document whose file is written again, whatever it is now
        self._memory, self.news = self._context.memory, self._context.news
        self._lock = call.place.state, os.path.join(self._context.directory, "gate")
        self._seen: list[Seen] = []
        self._turn = -1  # after which it was seen
        self._looked_at = 0  # the position of the log before it was seen

    def run(self) -> list[Notice]:
        check_folders(self._call.place.state, "mirrors", "keep", make=True)
        self._memory.read()
        self._look()
        wanted = self._store.cursor()
        if self._is_in_step(wanted) and not self._restore:
            self._remember_settled()
            return []
        patience = self._engine.log.handle.patience
        longest = _TURN if patience is None else min(_TURN, patience)
        # Another process may have rendered our events; then only the files need a check.
        with MirrorLock(*self._lock, longest, lambda: self._is_done(wanted)) as got:
            if got == "ours":
                self._work()
            elif got == "timeout":
                self._warn("Another process is syncing the mirrors; a later command syncs the rest.")
        return self._context.warnings

    # --- reading -----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Read the views and the files. While this process holds the mirrors' lock, no other one absorbs a file."""
        self._store = self._engine.read()
        self._turn, self._looked_at = self._memory.turn, self._store.cursor()
        self._seen = [
            Seen(form, one, file, *file.visit(self._memory.known(file.path).signature, graves=form.writable))
            for form, one, file in self._context.files(self._store)
        ]

    def _is_done(self, wanted: int) -> bool:
        """Whether another process has done the work. Reads the files only if another process has synced."""
        if not self._memory.is_news() or self._memory.read().turn == self._turn:
            return False
        self._look()
        return self._is_in_step(wanted)

    def _is_in_step(self, wanted: int) -> bool:
        """Whether there is nothing to absorb and nothing to render."""
        memory = self._memory
        shown = memory.rendered >= wanted or self._quiet.is_quiet(self._engine, memory.rendered, self._context.forms)
        rendered = shown and memory.maker == self._context.maker and self._is_of_this_log()
        return rendered and all(self._is_as_left(seen) for seen in self._seen) and not self._due()

    def _due(self) -> list[Form]:
        return [form for form in self._context.forms if form.is_due(self._call)]

    def _is_of_this_log(self) -> bool:
        """Whether the rendered commit is in this log. A restored or truncated log has other events."""
        return self._memory.commit == self._commit_at(self._memory.rendered)

    def _is_as_left(self, seen: Seen) -> bool:
        known = self._memory.known(seen.file.path)
        if seen.graves or known.torn or known.due:
            return False
        if isinstance(seen.look, Missing):
            back = known.absent == "folder" and os.path.isdir(os.path.dirname(seen.file.path))
            as_left = bool(known.absent) and not back
        else:
            as_left = isinstance(seen.look, Unchanged)
        stays = known.absent in ("ignored", "folder", "spoiled")
        return as_left and (stays or not seen.form.is_behind(self._store, seen.one, known.memo))

    def _remember_settled(self) -> None:
        """Keep signatures that prove more than the previous ones, so that the next call need not read the files."""
        newer = {
            seen.file.path: self._memory.known(seen.file.path).replace(signature=seen.look.signature)
            for seen in self._seen
            if isinstance(seen.look, Unchanged)
            and seen.look.signature.settled
            and seen.look.signature != self._memory.known(seen.file.path).signature
        }
        if not newer:
            return
        with MirrorLock(*self._lock, 0.0, lambda: False) as got:
            if got == "ours" and self._memory.read().turn == self._turn:
                self._memory.files.update(newer)
                self._keep_memory()

    def _commit_at(self, position: int) -> str:
        cursor, commit, _ = self._store.standing()
        if position in (0, cursor):
            return commit if position else ""
        return "".join(event.commit for event in self._engine.log.read(position - 1, 1))

    # --- a sync: rounds of absorbing and rendering until nothing new comes in -----------------------------------------

    def _work(self) -> None:
        from moot.mirrors.absorbing import Absorber  # imported late: most commands find everything in step
        from moot.mirrors.rendering import Renderer

        # The look was before the lock. A process that was killed meanwhile may have absorbed the same files: its commit
        # is in the log, but perhaps not in the views, and not in the cached state.
        if self._engine.log.head() != self._looked_at:
            self._look()
        if not self._is_of_this_log():
            self._memory.rendered, self._memory.commit = 0, None
            self._memory.wake_all()
            self._memory.files = {path: known.replace(memo=None) for path, known in self._memory.files.items()}
        self._welcome()
        self._prepare_restoring()
        absorber = Absorber(self._context)
        renderer = Renderer(self._context, absorber)
        first = {seen.form: seen for seen in reversed(self._seen)}  # in a bare repository there may be none
        for form in self._due():
            if form in first:
                absorber.do_due(first[form])
        for _ in range(_ROUNDS):
            blocked, changed = absorber.absorb(self._seen)
            cursor, commit, _ = self._store.standing()
            settled = renderer.render(self._store, cursor, self._seen, blocked, changed)
            if settled and self._engine.log.head() == cursor:
                self._memory.rendered, self._memory.commit, self._memory.maker = cursor, commit, self._context.maker
                break
            self._look()
        else:
            self._warn("Other programs keep writing to the mirrors; a later command syncs them.")
        self._note_those_away()
        self._keep_memory()

    def _prepare_restoring(self) -> None:
        for seen in self._seen:
            if self._restore and self._restore == seen.form.document_of(seen.one):
                self._context.restoring.add(seen.file.path)
                self._context.know(seen.file.path, absent="", due=True)

    def _note_those_away(self) -> None:
        """Read and render files again that are not listed now, if they come back as they were."""
        listed = {seen.file.path for seen in self._seen}
        everything = self._context.among is None
        if everything:
            self._memory.wake_all()
        away = [path for path, known in self._memory.files.items() if path not in listed]
        away = [path for path in away if everything or not self._memory.files[path].rests]
        for path in away[:-_AWAY]:
            del self._memory.files[path]
        for path in away[-_AWAY:]:
            self._context.know(path, signature=None, torn=None, due=False, gone_since=0.0)

    def _welcome(self) -> None:
        """Start to measure the silence of agents that use only files, once per boot."""
        if self._memory.boot != (boot := self._call.clock.boot_id()):
            for speaker in {speaker for form in self._context.forms for speaker in form.speakers}:
                self._call.presence.welcome(speaker, 0)
            self._memory.boot = boot

    def _keep_memory(self) -> None:
        try:
            self._memory.write()
        except OSError as error:
            self._warn(f"The state of the mirrors cannot be cached ({error.strerror}).")

    def _warn(self, message: str) -> None:
        self._context.warn("mirror_pending", message)


def _examined(form: Form, store: Store, one: Instance, file: MirrorFile) -> DocumentFile:
    """The file as it is now, read by its form, and what it should show."""
    with form.code:
        rendering = form.render(store, one)
        found = DocumentFile(
            document=form.document_of(one),
            path=file.path,
            exists=True,
            root=one.root,
            shows=rendering.data if rendering is not None else None,
            initial=form.initial_leaves(),
        )
        match file.look(None):
            case Missing():
                return found.replace(exists=False)
            case Unreadable(reason=reason):
                return found.replace(fault=reason, barred=True)
            case Changed(data=data):
                return _as_read(form, found, data)
    raise AssertionError("without a known signature, no file is unchanged")


def _as_read(form: Form, found: DocumentFile, data: bytes) -> DocumentFile:
    try:
        return found.replace(leaves=form.read(data))
    except Torn as error:
        return found.replace(fault=str(error), line=error.line, column=error.column)
    except Malformed as error:
        return found.replace(fault=str(error))
