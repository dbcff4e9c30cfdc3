"""Absorbs what other programs wrote into mirror files: commits it, holds it, or quarantines the file.

The form of a mirror interprets the content. The entries of one author in one content are one commit. A recently torn
file is left alone with a warning, an older one is quarantined: its bytes are kept as a blob, and a held entry in
the log names them. Requires the mirrors' lock.
"""

from __future__ import annotations

import os

from moot.api.answer import Notice
from moot.api.protocol.form import FULL, Malformed, Taken, in_rounds
from moot.core.errors import Unavailable
from moot.core.kind import kind_of
from moot.core.principal import leaves_stamps
from moot.core.strict_json import Torn
from moot.mirrors.file_reading import Changed, Missing, Unchanged, digest_of
from moot.place import MAIN, trust
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MirrorSpec, Packs
    from moot.api.protocol.form import Instance
    from moot.engine.unit_of_work import Work
    from moot.mirrors.files import Displaced, MirrorFile
    from moot.mirrors.state_cache import Known
    from moot.mirrors.sync_context import Seen, SyncContext

_DELETION = 1.0  # seconds that the deletion of a directory may take
_REMOVAL = 10.0  # seconds that the removal of a worktree may take


class Absorber:
    """See the module."""

    def __init__(self, context: SyncContext) -> None:
        self._context, self._memory = context, context.memory
        self._call, self._engine = context.call, context.engine
        self._later: list[tuple[Seen, str, Any, Any, Any]] = []  # see `Taken.later`
        self._sources: list[tuple[Seen, Callable[[Work], Taken]]] = []  # files that moot only reads, to be taken in
        self._size = 0  # of these, in events
        self._spoiled: set[str] = set()  # quarantined, and not to be repaired

    def absorb(self, all_seen: list[Seen]) -> tuple[set[str], set[str]]:
        """Absorb the content of all files. Returns the files that must not be written now, and those to render."""
        blocked: set[str] = set()
        changed: set[str] = set()
        taken: list[tuple[MirrorFile, Displaced]] = []
        for n, seen in enumerate(all_seen):
            if seen.form.writable:
                self._take_sources()  # first: they say what is planned and configured
            else:
                self._call.progress(f"reading {os.path.dirname(seen.one.path)}", n, len(all_seen))
            path, known = seen.file.path, self._memory.known(seen.file.path)
            for found in seen.graves:
                if found.unreadable is not None:
                    self._warn(f"The file that replaced {path} is kept: {found.unreadable}.")
                    seen.file.absorbed(found)
                elif self.take(seen, found.data, self._context.before.get(path), found.age):
                    taken.append((seen.file, found))
            what = self._absorb_look(seen, known)
            if what == "blocked":
                blocked.add(path)
                if seen.form.writable:
                    self._context.know(path, due=True)
            elif what == "changed":
                changed.add(path)
        self._take_sources()
        unread = self._left_for_later(blocked)
        self.take_later()
        for file, found in taken:  # only now: what was put off is nowhere else
            if file.path not in unread:
                file.absorbed(found)
        return blocked | unread, changed

    def _left_for_later(self, blocked: set[str]) -> set[str]:
        """The files to read again: something was put off, and a torn file may have what it waits for."""
        torn = any(self._memory.known(path).torn for path in blocked)
        found = {seen.file.path for seen, *_ in self._put_off()} if torn else set[str]()
        for path in found:
            self._context.know(path, signature=None)
        return found

    def _absorb_look(self, seen: Seen, known: Known) -> str:
        """Absorb the current content of a file. Returns whether it is changed, blocked, or nothing of these."""
        path, know = seen.file.path, self._context.know
        match seen.look:
            case Changed(data=data, signature=signature):
                if not self.take(seen, data, known.memo):
                    return "blocked"
                absent = "spoiled" if path in self._spoiled else ""
                know(path, signature=signature, torn=None, absent=absent, gone_since=0.0, rests=seen.form.rests)
                return "changed"
            case Unchanged(signature=signature):
                due = known.due and seen.form.writable
                know(path, signature=signature, torn=None, due=due, gone_since=0.0)
                return "changed" if due else ""
            case Missing():
                if self._is_leaving(seen, known):
                    return "blocked"
                self._miss(seen, known)
                return "changed"
            case _:
                self._note_unreadable(seen, seen.look.reason)
                return "blocked"

    def take_later(self) -> None:
        """Take what was put off until all files have been absorbed."""

        def take(put_off: tuple[Seen, str, Any, Any, Any], idle: int) -> list[tuple[Seen, str, Any, Any, Any]]:
            seen, author, content, memo, facts = put_off
            self._take_facts(seen, author, content, memo, facts.replace(idle=idle))
            return self._put_off()

        in_rounds(self._put_off(), take, lambda: len(self._context.news))

    def _put_off(self) -> list[tuple[Seen, str, Any, Any, Any]]:
        found, self._later = self._later, []
        return found

    def take(self, seen: Seen, data: bytes, memo: Any, age: float | None = None) -> bool:
        """Absorb one content, or quarantine it. False if the file must stay: recently torn, or no room to keep it.

        `memo` describes the content that its writer had read, None if unknown. `age` is that of a replaced file.
        """
        if (not data or data.isspace()) and seen.form.spec.emptied == "restore":
            return age is not None or self._may_fill(seen.file)
        try:
            content = self._read(seen, data, memo)
        except Torn as torn:
            if (self._age(seen.file, data) if age is None else age) < self._call.settings.mirror_torn_after:
                self._warn(f"{seen.file.path} is not valid yet ({torn}); left alone for now.")
                return False
            if self._take_unusable(seen, str(torn), data, memo):
                return True
            return self._quarantine(seen, data, str(torn)) if data or not seen.form.repairs else self._restore(seen)
        except Malformed as error:
            return self._take_unusable(seen, str(error), data, memo) or self._quarantine(seen, data, str(error))
        if age is None and not seen.form.shows_its_end and self._is_being_cut(seen, data, content, memo):
            return False
        self._take_content(seen, content, memo)
        return True

    def _read(self, seen: Seen, data: bytes, memo: Any) -> Any:
        with seen.form.code:
            content = seen.form.read_news(data, self._engine.store, seen.one)
            if cut := seen.form.cut_off(self._call, data, content, memo):
                raise Torn(cut)
        return content

    def _is_being_cut(self, seen: Seen, data: bytes, content: Any, memo: Any) -> bool:
        """Whether only a part of a file may have been written yet, in a format in which a part is valid, too."""
        with seen.form.code:
            beginning = seen.form.is_beginning(self._call, data, content, memo)
        if not (beginning or seen.file.is_being_written(unknown=False)):
            return False
        if self._age(seen.file, data) >= self._call.settings.mirror_torn_after:
            return False
        self._warn(f"{seen.file.path} may not be complete yet; left alone for now.")
        return True

    def _take_unusable(self, seen: Seen, reason: str, data: bytes | None = None, memo: Any = None) -> bool:
        """Let the form note why a file cannot be used. False if it does not."""
        content = seen.form.unusable(reason, data)
        if content is not None:
            self._take_content(seen, content, memo)
        return content is not None

    def _take_content(self, seen: Seen, content: Any, memo: Any) -> None:
        for author in seen.form.authors(content):
            with seen.form.code:
                facts = seen.form.observe(self._call, seen.one, content, memo, author)
            if facts is not None and leaves_stamps(author):
                self._call.presence.stamp_principal(author)  # before the commit: it may give a lease to the author
            if seen.form.writable:
                self._take_facts(seen, author, content, memo, facts)
            elif facts is not None:
                self._take_source(seen, seen.form.take, content, memo, facts)

    def _take_source(self, seen: Seen, act: Callable[..., Taken], *given: Any) -> None:
        self._sources.append((seen, lambda work: act(work, seen.one, *given)))
        facts = given[-1] if given and isinstance(given[-1], dict) else {}
        self._size += 3 + sum(len(value) for value in facts.values() if isinstance(value, list))
        if self._size > FULL:  # events, at most: what follows from a file can be as long as its lists
            self._take_sources()

    def _take_sources(self) -> None:
        """Take in the files that moot only reads: many of them in one commit."""
        sources, self._sources, self._size = tuple(self._sources), [], 0

        def take_all(work: Work, _one: Instance) -> Taken:
            notices: list[Notice] = []
            work.via = f"file {os.path.commonpath([seen.one.path for seen, _ in sources])}"
            for seen, take in sources:
                with seen.form.code:
                    notices += take(work).notices
            return Taken(notices=tuple(notices))

        if sources:
            self._commit(sources[0][0], "moot", take_all)

    def _take_facts(self, seen: Seen, author: str, content: Any, memo: Any, facts: Any) -> None:
        while facts is not None:  # what one commit has no room for goes into the next one
            taken = self._commit(seen, author, seen.form.take, content, memo, facts)
            if taken.later is not None:
                self._later.append((seen, author, content, memo, taken.later))
            facts = taken.rest

    def _may_fill(self, file: MirrorFile) -> bool:
        """Whether to render an empty file at once: a filter that reads one writes an empty one, and loses an entry.

        It is left alone while a program has it open for writing. If the system cannot say, for a while.
        """
        if not file.is_being_written() or self._age(file, b"") >= self._call.settings.mirror_torn_after:
            return True
        self._warn(f"{file.path} is empty, and a program may be writing to it; left alone for now.")
        return False

    def do_then(self, seen: Seen, act: Callable[..., Taken]) -> None:
        """Commit what a rendering asks for."""
        self._commit(seen, "moot", act)

    def do_due(self, seen: Seen) -> None:
        """Record what happened outside the files, as the form of this one says."""
        self._commit(seen, "moot", seen.form.do_due)

    def _is_leaving(self, seen: Seen, known: Known) -> bool:
        """Whether a file has just vanished, perhaps with its whole directory or worktree, and is not restored yet.

        `rm -r` and `git worktree remove` delete files one by one, and fail if a new one appears.
        """
        if not self._context.patient or not seen.form.writable or known.signature is None:
            return False
        now = self._call.clock.monotonic()
        since = known.gone_since if 0 < known.gone_since <= now else now
        self._context.know(seen.file.path, gone_since=since)
        return now - since < (_DELETION if seen.one.worktree == MAIN else _REMOVAL)

    def _miss(self, seen: Seen, known: Known) -> None:
        """Handle a missing file: it is new, or it was deleted."""
        if not seen.form.writable:  # of a deleted source, only the document is left
            self._take_source(seen, seen.form.vanished, None)
            self._context.know(seen.file.path, signature=None, torn=None)
            return
        policy, noted = seen.form.spec.missing, seen.form.notes_deletions
        absent = "ignored" if policy == "ignore" and (known.signature or known.absent) else ""
        if noted and not absent and (known.signature is not None or known.absent == "folder"):
            if not os.path.isdir(os.path.dirname(seen.file.path)):
                wanted = seen.file.path in self._context.restoring and os.path.isdir(seen.one.root)
                absent = "" if wanted else "folder"  # no deletion of the file: perhaps its worktree is being removed
            elif known.signature is not None:
                self._commit(seen, "moot", seen.form.vanished, known.memo)
        elif known.signature is not None and policy == "restore":
            self._note_restored(seen)
        memo = known.memo if absent == "folder" else None  # the folder may come back with the file
        self._context.know(
            seen.file.path, signature=None, memo=memo, torn=None, absent=absent, due=False, gone_since=0.0
        )

    def _note_restored(self, seen: Seen) -> None:
        """Write into the journal of the pack, if it has one, that a deleted file is written again."""
        spec = seen.form.spec
        if not any(form.spec.form == "lines" and form.spec.pack == spec.pack for form in self._context.forms):
            return
        from moot.api.protocol.journal_lines import WARN, note

        def act(work: Work, one: Instance) -> Taken:
            note(work, spec.pack, WARN, f"restored {one.path}, which was deleted")
            return Taken()

        self._commit(seen, "moot", act)

    def _commit(self, seen: Seen, by: str, act: Callable[..., Taken], *given: Any) -> Taken:
        """Commit what `act(work, one, *given)` decides. The commit records the file as its source."""
        taken = Taken()

        def signed(work: Work) -> None:
            nonlocal taken
            work.via = f"file {seen.one.path}"
            with seen.form.code:
                taken = act(work, seen.one, *given)

        outcome = self._engine.commit(by, signed)
        if outcome.behind:
            self._engine.read()
        self._context.news += outcome.events
        self._context.warnings += taken.notices
        return taken

    def _age(self, file: MirrorFile, data: bytes) -> float:
        """The age of a torn content: since it was first seen, or since it was written."""
        if file.path in self._context.restoring:
            return float("inf")
        known, now = self._memory.known(file.path), self._call.clock.monotonic()
        if known.torn != (digest := digest_of(data)):
            self._context.know(file.path, torn=digest, torn_since=now)
        try:
            written = self._call.clock.wall_seconds() - os.stat(file.path).st_mtime
        except OSError:
            written = 0.0
        return max(now - self._memory.known(file.path).torn_since, written)

    def _quarantine(self, seen: Seen, data: bytes, reason: str) -> bool:
        """Keep the bytes and record it in the log. False if they could not be kept; the file must then stay."""
        path = seen.file.path
        known = self._memory.known(path)
        after = self._memory.rendered if known.signature and not known.due else 0  # else the last write has failed
        try:
            act = _quarantined(self._call, seen.form.spec, path, data, reason, after)
        except Unavailable as error:
            why = f"{reason}), and quarantine is not possible ({error.message.rstrip('.')}"
            self._warn(f"{path} could not be read ({why}); left alone for now.")
            return False
        self._commit(seen, "moot", act)
        if not seen.form.repairs and path not in self._context.restoring:
            self._spoiled.add(path)
        return True

    def _restore(self, seen: Seen) -> bool:
        """Let a file of 0 bytes be written again: there is nothing to keep, and it is not a clear."""
        self._commit(seen, "moot", _note_empty(self._call.packs, seen.form.spec))
        self._warn(f"{seen.file.path} was empty; moot has written it again.")
        return True

    def _note_unreadable(self, seen: Seen, reason: str) -> None:
        if self._take_unusable(seen, reason):
            return
        path = seen.file.path
        trusting = f" {trust.remedy(self._call.place, os.environ)}" if "another account" in reason else ""
        self._warn(f"{path} cannot be used: {reason}.{trusting}")

    def _warn(self, message: str) -> None:
        self._context.warn("mirror_pending", message)


def _note_empty(packs: Packs, spec: MirrorSpec) -> Callable[[Work, Instance], Taken]:
    """What is committed about a file of 0 bytes: a line in the journal of its pack, if it has one."""
    from moot.api.protocol.journal_lines import WARN, note

    def act(work: Work, one: Instance) -> Taken:
        if any(mirror.form == "lines" and mirror.pack == spec.pack for mirror in packs.mirrors):
            note(work, spec.pack, WARN, f"{one.path} was empty, which is not valid; it was written again")
        return Taken()

    return act


def _quarantined(
    call: Call, spec: MirrorSpec, path: str, data: bytes, reason: str, after: int
) -> Callable[[Work, Instance], Taken]:
    """Keep the bytes. Returns what must be committed next. Raises `Unavailable` if the bytes cannot be kept.

    If an event after the position `after` has quarantined the same bytes, nothing is committed: the file was not
    rendered again since, because the process was killed or the file could not be written.
    """
    from moot.core.deciders.held_entry import QuarantineFile

    digest = call.put_blob(data)

    def found(work: Work, one: Instance) -> str | None:
        for entry in queries.held_entries(work.store):
            same = (entry.path, entry.sha256, entry.reason) == (one.path, digest, reason)  # a redacted reason differs
            if same and states.state(work.store, kind_of("entry"), entry.id)[1] > after:
                return entry.id
        return None

    def act(work: Work, one: Instance) -> Taken:
        identity = found(work, one)
        if identity is None:
            identity = f"h-{work.token(7)}"
            command = QuarantineFile(path=one.path, mirror=spec.name, sha256=digest, size=len(data), reason=reason)
            work.do("entry", identity, command, pack=spec.pack)
        said = f"{identity}: {path} could not be read ({reason}); its bytes are in quarantine."
        return Taken(notices=(Notice("entry_held", said),))

    return act
