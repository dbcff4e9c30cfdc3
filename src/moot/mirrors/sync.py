"""Syncs mirror files with the log: read all mirrors in all worktrees, absorb, render, read again.

One sync at a time per workspace. A command never waits for another writer: it leaves a recently torn file alone and
warns, and quarantines an older one. A changed file is never overwritten before its content is absorbed or held. The
form of a mirror interprets its content (`moot.api.protocol.form`).

Each file is checked once per sync, and read only if its signature does not prove that it is unchanged. The entries of
one author in one content are one commit. Only files that changed, or whose streams moved, are rendered.
"""

from __future__ import annotations

import os
import sys

from moot.api.answer import Notice
from moot.api.protocol import Mirrors
from moot.api.protocol.form import Malformed, Taken, Torn
from moot.core.errors import Refused, Unavailable
from moot.core.principal import leaves_stamps
from moot.core.record import Record
from moot.location import trust, worktrees
from moot.log import REDACTIONS
from moot.mirrors.file_reading import Changed, Missing, Unchanged, digest_of
from moot.mirrors.files import MirrorFile, Unwritable
from moot.mirrors.folders import Accounts
from moot.mirrors.forms import form_of
from moot.mirrors.lock import MirrorLock
from moot.mirrors.state_cache import Known, MirrorMemory
from moot.private_files import check_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Packs
    from moot.api.protocol.form import Form, Instance, Rendering
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.mirrors.file_reading import Look
    from moot.mirrors.files import Displaced
    from moot.views.store import Store

_TURN = 5.0  # seconds to wait for the lock
_ROUNDS = 8  # maximum rounds per sync, while others keep writing
_PAGE = 1000  # events: above this number, everything is rendered
_FILE_LIMIT = 256 * 1024 * 1024


class Seen(Record):
    """The state of one file, as read once."""

    form: Form
    one: Instance
    file: MirrorFile
    look: Look
    graves: list[Displaced]


class FileMirrors(Mirrors):
    """The mirrors of all active packs in all worktrees."""

    def __init__(self, packs: Packs) -> None:
        self._packs = packs
        self._made: list[Form] = []

    def sync(self, call: Call, news: Sequence[Event] | None = None) -> tuple[Notice, ...]:
        try:
            forms = self._forms()
            if news is not None and not _shown(news, forms):
                return ()
            return tuple(dict.fromkeys(_Sync(call, forms).run()))
        except OSError as error:  # a file next to the log must not make a command fail
            why = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            return (Notice("mirror_pending", f"The mirrors cannot be synced now ({why}); a later command syncs them."),)
        except Refused as error:
            if error.code != "pack_failed":
                raise
            return (Notice("mirror_pending", f"The mirrors cannot be kept now. {error.message}"),)

    def kept(self, call: Call) -> list[str]:
        check_folders(call.place.state, "mirrors", "keep")
        files = _Sync(call, self._forms()).files(call.engine.read())
        return [kept.path for _, _, file in files for kept in file.kept()]

    def _forms(self) -> list[Form]:
        if not self._made:  # a pack's own form can fail here
            self._made = [form_of(spec, self._packs) for spec in self._packs.mirrors]
        return self._made


class _Sync:
    """The sync of one call."""

    def __init__(self, call: Call, forms: list[Form]) -> None:
        self._call, self._engine = call, call.engine
        self._directory = os.path.join(call.place.state, "mirrors")
        self._keep = os.path.join(self._directory, "keep")
        self._memory = MirrorMemory(self._directory)
        self._forms = forms
        self._trees = worktrees(call.place)
        self._accepts = Accounts(call.place).__getitem__
        self._maker: str = sys.modules["moot"].__version__  # modules of moot do not import the package root
        self._warnings: list[Notice] = []
        self._news: list[Event] = []  # the events that this sync has appended
        self._seen: list[Seen] = []
        self._turn = -1  # after which it was seen
        self._looked_at = 0  # the position of the log before it was seen

    def run(self) -> list[Notice]:
        check_folders(self._call.place.state, "mirrors", "keep", make=True)
        self._memory.read()
        self._look()
        wanted = self._store.cursor()
        if self._is_in_step(wanted):
            self._remember_settled()
            return []
        patience = self._engine.log.handle.patience
        longest = _TURN if patience is None else min(_TURN, patience)
        # Another process may have rendered our events; then only the files need a check.
        with MirrorLock(os.path.join(self._directory, "lock"), longest, lambda: self._is_done(wanted)) as got:
            if got == "ours":
                self._work()
            elif got == "timeout":
                self._warn("mirror_pending", "Another process is syncing the mirrors; a later command syncs the rest.")
        return self._warnings

    def files(self, store: Store) -> list[tuple[Form, Instance, MirrorFile]]:
        return [
            (form, one, MirrorFile(one.root, one.path, self._keep, limit=_FILE_LIMIT, accepts=self._accepts))
            for form in self._forms
            for one in form.instances(store, self._trees)
        ]

    # --- reading -----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Read the views and the files. While this process holds the mirrors' lock, no other one absorbs a file."""
        self._store = self._engine.read()
        self._turn, self._looked_at = self._memory.turn, self._store.cursor()
        self._seen = [
            Seen(form, one, file, *file.visit(self._memory.known(file.path).signature))
            for form, one, file in self.files(self._store)
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
        rendered = memory.rendered >= wanted and memory.maker == self._maker and self._is_of_this_log()
        return rendered and all(self._is_as_left(seen) for seen in self._seen)

    def _is_of_this_log(self) -> bool:
        """Whether the rendered commit is in this log. A restored or truncated log has other events."""
        return self._memory.commit == self._commit_at(self._memory.rendered)

    def _is_as_left(self, seen: Seen) -> bool:
        known = self._memory.known(seen.file.path)
        if seen.graves or known.torn:
            return False
        if isinstance(seen.look, Missing):
            back = known.absent == "folder" and os.path.isdir(os.path.dirname(seen.file.path))
            return bool(known.absent) and not back
        return isinstance(seen.look, Unchanged)

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
        with MirrorLock(os.path.join(self._directory, "lock"), 0.0, lambda: False) as got:
            if got == "ours" and self._memory.read().turn == self._turn:
                self._memory.files.update(newer)
                self._keep_memory()

    def _commit_at(self, position: int) -> str:
        cursor, commit, _ = self._store.standing()
        if position in (0, cursor):
            return commit if position else ""
        return "".join(event.commit for event in self._engine.log.raw.read(position - 1, 1))

    # --- a sync: rounds of absorbing and rendering until nothing new comes in -----------------------------------------

    def _work(self) -> None:
        # The look was before the lock. A process that was killed meanwhile may have absorbed the same files: its commit
        # is in the log, but perhaps not in the views, and not in the cached state.
        if self._engine.log.head() != self._looked_at:
            self._look()
        if not self._is_of_this_log():
            self._memory.rendered, self._memory.commit = 0, None
            self._memory.files = {path: known.replace(memo=None) for path, known in self._memory.files.items()}
        self._welcome()
        for _ in range(_ROUNDS):
            blocked, changed = self._absorb()
            cursor, commit, _ = self._store.standing()
            if self._render(cursor, blocked, changed) and self._engine.log.head() == cursor:
                self._memory.rendered, self._memory.commit, self._memory.maker = cursor, commit, self._maker
                break
            self._look()
        else:
            self._warn("mirror_pending", "Other programs keep writing to the mirrors; a later command syncs them.")
        self._keep_memory()

    def _welcome(self) -> None:
        """Start to measure the silence of agents that use only files, once per boot."""
        if self._memory.boot != (boot := self._call.clock.boot_id()):
            for speaker in {speaker for form in self._forms for speaker in form.speakers}:
                self._call.presence.welcome(speaker, 0)
            self._memory.boot = boot

    def _keep_memory(self) -> None:
        try:
            self._memory.write()
        except OSError as error:
            self._warn("mirror_pending", f"The state of the mirrors cannot be cached ({error.strerror}).")

    def _absorb(self) -> tuple[set[str], set[str]]:
        """Absorb what other programs wrote. Returns the files that must not be written now, and those to render."""
        blocked: set[str] = set()
        changed: set[str] = set()
        for seen in self._seen:
            path, known = seen.file.path, self._memory.known(seen.file.path)
            for found in seen.graves:
                if found.unreadable is not None:
                    self._warn("mirror_pending", f"The file that replaced {path} is kept: {found.unreadable}.")
                    seen.file.absorbed(found)
                elif self._take(seen, found.data, None, found.age):
                    seen.file.absorbed(found)
            match seen.look:
                case Changed(data=data, signature=signature):
                    if self._take(seen, data, known.memo):
                        self._know(path, signature=signature, torn=None, absent="")
                        changed.add(path)
                    else:
                        blocked.add(path)
                case Unchanged(signature=signature):
                    self._know(path, signature=signature, torn=None)
                case Missing():
                    self._miss(seen, known)
                    changed.add(path)
                case _:
                    blocked.add(path)
                    self._warn_of_unreadable(path, seen.look.reason)
        return blocked, changed

    def _know(self, path: str, **news: Any) -> None:
        self._memory.files[path] = self._memory.known(path).replace(**news)

    def _warn_of_unreadable(self, path: str, reason: str) -> None:
        trusting = f" {trust.remedy(self._call.place, os.environ)}" if "another account" in reason else ""
        self._warn("mirror_pending", f"{path} cannot be used: {reason}.{trusting}")

    def _miss(self, seen: Seen, known: Known) -> None:
        """Handle a missing file: it is new, or it was deleted."""
        policy, noted = seen.form.spec.missing, seen.form.notes_deletions
        absent = "ignored" if policy == "ignore" and (known.signature or known.absent) else ""
        if known.signature is not None and noted and not absent:
            if os.path.isdir(os.path.dirname(seen.file.path)):
                self._commit(seen, "moot", seen.form.vanished, known.memo)
            else:
                absent = "folder"  # not a deletion of the file: perhaps the worktree is being removed
        self._know(seen.file.path, signature=None, memo=None, torn=None, absent=absent)

    def _take(self, seen: Seen, data: bytes, memo: Any, age: float | None = None) -> bool:
        """Absorb one content, or quarantine it. False if the file must stay: recently torn, or no room to keep it.

        `memo` describes the content that its writer had read, None if unknown. `age` is that of a replaced file.
        """
        if not data and seen.form.spec.emptied == "restore" and not seen.file.is_being_written():
            return True  # render it again: a filter that reads an empty file would write an empty one
        try:
            with seen.form.code:
                content = seen.form.read(data)
        except Torn as torn:
            if (self._age(seen.file, data) if age is None else age) < self._call.settings.mirror_torn_after:
                self._warn("mirror_pending", f"{seen.file.path} is not valid yet ({torn}); left alone for now.")
                return False
            return self._quarantine(seen, data, str(torn))
        except Malformed as error:
            return self._quarantine(seen, data, str(error))
        for author in seen.form.authors(content):
            with seen.form.code:
                facts = seen.form.observe(self._call, seen.one, content, memo, author)
            if facts is not None and leaves_stamps(author):
                self._call.presence.stamp_principal(author)  # before the commit: it may give a lease to the author
            while facts is not None:  # what one commit has no room for goes into the next one
                facts = self._commit(seen, author, seen.form.take, content, memo, facts).rest
        return True

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
        self._news += outcome.events
        self._warnings += taken.notices
        return taken

    def _age(self, file: MirrorFile, data: bytes) -> float:
        """The age of a torn content: since it was first seen, or since it was written."""
        known, now = self._memory.known(file.path), self._call.clock.monotonic()
        if known.torn != (digest := digest_of(data)):
            self._know(file.path, torn=digest, torn_since=now)
        try:
            written = self._call.clock.wall_seconds() - os.stat(file.path).st_mtime
        except OSError:
            written = 0.0
        return max(now - self._memory.known(file.path).torn_since, written)

    def _quarantine(self, seen: Seen, data: bytes, reason: str) -> bool:
        """Keep the bytes and record it in the log. False if they could not be kept; the file must then stay."""
        from moot.mirrors.quarantine import quarantine  # imported late: it is rare

        path = seen.file.path
        after = self._memory.rendered if self._memory.known(path).signature else 0  # else the last write has failed
        try:
            act = quarantine(self._call, seen.form.spec, path, data, reason, after)
        except Unavailable as error:
            why = f"{reason}), and quarantine is not possible ({error.message.rstrip('.')}"
            self._warn("mirror_pending", f"{path} could not be read ({why}); left alone for now.")
            return False
        self._commit(seen, "moot", act)
        return True

    def _render(self, cursor: int, blocked: set[str], changed: set[str]) -> bool:
        """Render the files that need it. False if a write displaced content that must be absorbed."""
        settled, moved = True, self._moved(cursor)
        made: dict[tuple[str, str, str], Rendering | None] = {}
        for seen in self._seen:
            form, one, path = seen.form, seen.one, seen.file.path
            known = self._memory.known(path)
            if path in blocked or known.absent in ("ignored", "folder") or not form.writable:
                continue
            if form not in moved and path not in changed and known.signature is not None:
                continue
            key = (form.spec.name, one.subject, one.worktree if form.spec.scope == "worktree" else "")
            if key not in made:
                with form.code:
                    made[key] = form.render(self._store, one)
            settled = self._write(seen, known, made[key]) and settled
        return settled

    def _moved(self, cursor: int) -> list[Form]:
        """The forms that show events since the last rendering."""
        after, news = self._memory.rendered, self._news
        if self._memory.maker != self._maker or self._memory.commit is None:
            return self._forms
        if cursor <= after:
            return []
        if len(news) != cursor - after or news[0].position != after + 1:
            news = self._engine.log.raw.read(after, _PAGE)
        return self._forms if len(news) >= _PAGE else _shown(news, self._forms)

    def _write(self, seen: Seen, known: Known, rendering: Rendering | None) -> bool:
        path = seen.file.path
        if rendering is None:
            self._know(path, absent="" if known.signature else "nothing")
            return True
        written = seen.file.write(rendering.data, known.signature, sync=seen.form.durable)
        if isinstance(written, Unwritable):
            self._warn("mirror_pending", f"{path} cannot be written: {written.reason}. A later command tries again.")
            self._know(path, signature=None)  # so that the next call tries again
            return True
        self._know(path, signature=written.signature, memo=rendering.memo, absent="")
        for found in written.displaced:
            if self._take(seen, found.data, known.memo, found.age):
                seen.file.absorbed(found)
        return not written.displaced

    def _warn(self, code: str, message: str) -> None:
        self._warnings.append(Notice(code, message))


def _shown(news: Sequence[Event], forms: list[Form]) -> list[Form]:
    """The forms that show one of these events. A redaction concerns all of them."""
    if any(event.stream == REDACTIONS for event in news):
        return forms
    return [form for form in forms if any(map(form.follows, news))]
