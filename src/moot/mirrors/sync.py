"""Bringing files and log into step: look at all mirrors in all worktrees, absorb, render, look again.

One turn at a time per workspace. The foreground never waits for a writer: a torn file that is young is left alone
and the answer warns; an old one goes into quarantine. A changed file is never overwritten before its content is
absorbed or held.
"""

from __future__ import annotations

import os

from moot.api.answer import Notice
from moot.api.pack import Mirrors
from moot.core.deciders.entry import QuarantineFile
from moot.core.errors import Unavailable
from moot.engine import trust
from moot.engine.place import worktrees
from moot.mirrors import mailbox
from moot.mirrors.files import Changed, MirrorFile, Missing, Unchanged, Unreadable, Unwritable
from moot.mirrors.lock import turn
from moot.mirrors.memory import Memory
from moot.mirrors.strict_json import Torn
from moot.private_files import check_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.api.pack import MirrorSpec

_TURN = 5.0  # seconds to wait for another's turn
_ROUNDS = 8  # looks within one turn, while others keep writing
_FILE_LIMIT = 256 * 1024 * 1024


class FileMirrors(Mirrors):
    """The mirrors of all active packs in all worktrees."""

    def sync(self, call: Call) -> tuple[Notice, ...]:
        try:
            return self._sync(call)
        except OSError as error:  # a command is not refused, and no append taken back, because of a file beside the log
            why = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            return (Notice("mirror_pending", f"The mirrors cannot be kept now ({why}); they follow later."),)

    def _sync(self, call: Call) -> tuple[Notice, ...]:
        check_folders(call.place.state, "mirrors", make=True)
        wanted = call.engine.read().cursor()
        directory = _directory(call)
        memory = Memory(directory)
        warnings: tuple[Notice, ...] = ()
        if not _in_step(call, memory.read(), wanted):
            # Whoever has the turn may render our events too; then only the files are left to look at.
            patience = call.engine.log.handle.patience
            longest = _TURN if patience is None else min(_TURN, patience)
            done = lambda: _in_step(call, memory.read(), wanted)  # noqa: E731
            with turn(os.path.join(directory, "lock"), longest, done) as got:
                if got == "ours":
                    warnings = tuple(_Round(call, memory.read(), directory).work())
                elif got == "timeout":
                    warnings = (
                        Notice("mirror_pending", "Another process is busy with the mirrors; they follow later."),
                    )
        return warnings

    def kept(self, call: Call) -> list[str]:
        return [one.path for _, file in _files(call, _directory(call)) for one in file.kept()]


def _directory(call: Call) -> str:
    return os.path.join(call.place.state, "mirrors")


def _in_step(call: Call, memory: Memory, wanted: int) -> bool:
    if memory.rendered < wanted or memory.commit != _commit_at(call, memory.rendered):
        return False
    for _, file in _files(call, _directory(call)):
        known = memory.known(file.path)
        if not isinstance(file.look(known.signature), Unchanged) or known.torn or file.graves():
            return False
    return True


def _commit_at(session: Call, position: int) -> str:
    """What stands there. In a log that lost its end, or was put back, positions mean other events."""
    cursor, commit, _ = session.engine.store.standing()
    if position in (0, cursor):
        return commit if position else ""
    return "".join(event.commit for event in session.engine.log.read(position - 1, 1))


def _files(session: Call, directory: str) -> Iterator[tuple[MirrorSpec, MirrorFile]]:
    keep = check_folders(os.path.dirname(directory), "mirrors", "keep")

    def accepts(uid: int) -> bool:
        return trust.may_write(session.place, uid)

    for tree in worktrees(session.place):
        for spec in session.packs.mirrors:
            yield spec, MirrorFile(tree.root, spec.path, keep, limit=_FILE_LIMIT, accepts=accepts)


class _Round:
    """One turn: rounds of absorbing and rendering until nothing new came in."""

    def __init__(self, session: Call, memory: Memory, directory: str) -> None:
        self._session, self._memory = session, memory
        self._files = list(_files(session, directory))
        self._roots = tuple(tree.root for tree in worktrees(session.place))
        self._warnings: list[Notice] = []

    def work(self) -> list[Notice]:
        for _ in range(_ROUNDS):
            blocked = self._absorb()
            head = self._session.engine.log.head()
            if self._render(blocked) and self._session.engine.log.head() == head:
                self._memory.rendered, self._memory.commit = head, _commit_at(self._session, head)
                break
        else:
            self._warn("mirror_pending", "Others keep writing into the mirrors; they follow later.")
        try:
            self._memory.write()
        except OSError as error:
            self._warn("mirror_pending", f"What was seen of the mirrors cannot be kept ({error.strerror}).")
        return list(dict.fromkeys(self._warnings))

    def _absorb(self) -> set[str]:
        """Take in everything that others wrote. Returns the files that must not be written now."""
        blocked = set()
        for spec, file in self._files:
            for found in file.graves():
                if found.unreadable is not None:
                    self._warn("mirror_pending", f"What was put in place of {file.path} is kept: {found.unreadable}.")
                    file.absorbed(found)
                elif self._take(spec, file, found.data, found.age):
                    file.absorbed(found)
            known = self._memory.known(file.path)
            match file.look(known.signature):
                case Changed(data=data, signature=signature):
                    if self._take(spec, file, data, self._age(file, signature.digest), known.shown):
                        known = known.replace(signature=signature, torn=None)
                        self._memory.files[file.path] = known
                    else:
                        blocked.add(file.path)
                case Unchanged(signature=signature):
                    self._memory.files[file.path] = known.replace(signature=signature, torn=None)
                case Missing():
                    self._memory.files[file.path] = known.replace(signature=None, shown=(), torn=None)
                case Unreadable(reason=reason):
                    blocked.add(file.path)
                    trusting = ""
                    if "another account" in reason:
                        trusting = f" {trust.remedy(self._session.place, os.environ)}"
                    self._warn("mirror_pending", f"{file.path} cannot be used: {reason}.{trusting}")
        return blocked

    def _take(self, spec: MirrorSpec, file: MirrorFile, data: bytes, age: float, had: tuple[str, ...] = ()) -> bool:
        """Absorb one content, or put it into quarantine. False: leave it alone, it is torn and young, or has no room.

        `had` is what its writer had in front of it. Without that an emptied file clears nothing.
        """
        try:
            taken = mailbox.absorb(self._session, spec, file.path, data, self._roots, had=had)
            self._warnings += taken.warnings
        except Torn as torn:
            if age < self._session.settings.mirror_torn_after:
                self._warn("mirror_pending", f"{file.path} is not valid JSON yet ({torn}); left alone for now.")
                return False
            return self._quarantine(spec, file, data, str(torn))
        except mailbox.Malformed as error:
            return self._quarantine(spec, file, data, str(error))
        return True

    def _age(self, file: MirrorFile, digest: str) -> float:
        """For how long this content has been there: since it was first seen torn, or since it was written."""
        known, now = self._memory.known(file.path), self._session.clock.monotonic()
        if known.torn != digest:
            known = known.replace(torn=digest, torn_since=now)
            self._memory.files[file.path] = known
        try:
            written = self._session.clock.wall_seconds() - os.stat(file.path).st_mtime
        except OSError:
            written = 0.0
        return max(now - known.torn_since, written)

    def _quarantine(self, spec: MirrorSpec, file: MirrorFile, data: bytes, reason: str) -> bool:
        """Keep the bytes, then say so in the log. False: they could not be kept, so the file must stay as it is."""
        try:
            digest = self._session.put_blob(data)
        except Unavailable as error:
            why = f"{reason}), and quarantine is not possible ({error.message.rstrip('.')}"
            self._warn("mirror_pending", f"{file.path} could not be read ({why}); left alone for now.")
            return False
        command = QuarantineFile(path=spec.path, mirror=spec.name, sha256=digest, size=len(data), reason=reason)
        identity = f"h-{self._session.clock.token(7)}"
        mailbox.commit_from(self._session, spec.path, "moot", lambda work: work.do("entry", identity, command))
        self._warn("entry_held", f"{identity}: {file.path} could not be read ({reason}); its bytes are in quarantine.")
        return True

    def _render(self, blocked: set[str]) -> bool:
        """Write what the log says into every file that may be written. False: something displaced is to be absorbed."""
        settled = True
        contents = {spec.name: mailbox.rendered(self._session, spec) for spec in self._session.packs.mirrors}
        for spec, file in self._files:
            if file.path in blocked:
                continue
            data, shown = contents[spec.name]
            known = self._memory.known(file.path)
            written = file.write(data, known.signature)
            if isinstance(written, Unwritable):
                self._warn("mirror_pending", f"{file.path} cannot be written: {written.reason}. It catches up later.")
                self._memory.files[file.path] = known.replace(signature=None)  # so that the next call tries again
                continue
            self._memory.files[file.path] = known.replace(signature=written.signature, shown=shown)
            for found in written.displaced:
                settled = False
                if self._take(spec, file, found.data, found.age, known.shown):
                    file.absorbed(found)
        return settled

    def _warn(self, code: str, message: str) -> None:
        self._warnings.append(Notice(code, message))
