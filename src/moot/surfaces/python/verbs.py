"""The verbs of the catalogue as typed methods.

The catalogue defines names, defaults and meaning (a test compares them). This module adds the types, for type checkers
and editors. Arguments that are positional on the command line may be positional here; the others are keyword-only.
Where the command line takes several values, pass one string or a sequence of strings. Durations are seconds, or a
string such as "30m".
"""

# Arguments keep the verb's names, even where they shadow a builtin. The return types are declared here and checked by
# the tests of this module.
# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import overload  # noqa: TID253 (no command loads this module)

from moot.core.record import Record
from moot.surfaces.python.operations import Operations
from moot.surfaces.python.tasks import Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from moot.api.message_view import Letter
    from moot.api.protocol.mirrors import Adoption
    from moot.api.to_do import Awoken
    from moot.api.verbs.agents import Me, Member
    from moot.api.verbs.claims import ClaimView, Grant
    from moot.api.verbs.documents import DocumentDifference, ListedDocument, RestoredDocument, ShownDocument
    from moot.api.verbs.events import Awaited
    from moot.api.verbs.leaving import Departure
    from moot.api.verbs.mail.inbox import Inbox, Overdue
    from moot.api.verbs.mail.mailbox import Instructions, MailboxView, UnreadMail
    from moot.api.verbs.mail.send import StoredMessage
    from moot.api.verbs.start import Start
    from moot.core.deciders.checkpoint import Checkpoint
    from moot.core.deciders.held_entry import HeldEntry
    from moot.core.event import Event
    from moot.core.task import Task
    from moot.engine.verify import Report
    from moot.mirrors.pack_check import PackCheck

    Some = str | Sequence[str]
    Time = float | str | None


class Mail(Record):
    """The mail in the inbox that was not shown yet."""

    new: int
    ids: tuple[str, ...]


class Verbs(Tasks, Operations):
    """See the module. Every method raises only errors from `moot.core.errors`, except for bugs."""

    # Agents

    def join(
        self,
        name: str | None = None,
        *,
        role: Some = (),
        client: str | None = None,
        take_over: bool = False,
        key: str | None = None,
    ) -> Member:
        """Join as an agent. From then on this workspace acts as that agent; a refused join changes nothing."""
        return self._ask("join", locals())

    def start(
        self,
        name: str | None = None,
        *,
        role: Some = (),
        client: str | None = None,
        take_over: bool = False,
        no_claim: bool = False,
    ) -> Start:
        """Join or go on, read new mail, and take the next task. From then on this workspace acts as that agent."""
        return self._ask("start", locals())

    def leave(
        self, name: str | None = None, *, retire: bool = False, reason: str | None = None, key: str | None = None
    ) -> Departure:
        """Leave, or make the named agent leave; what it holds is released."""
        return self._ask("leave", locals())

    def whoami(self) -> Me:
        """The identity that this workspace acts as, and why."""
        return self._ask("whoami", locals())

    def agents(self, *, all: bool = False) -> list[Member]:
        return self._ask("agents", locals())

    # Messages

    @overload
    def send(
        self,
        to: Some = ...,
        text: str | None = ...,
        *,
        type: str = ...,
        data: dict[str, Any] | None = ...,
        thread: str | None = ...,
        task: str | None = ...,
        within: Time = ...,
        expires: Time = ...,
        dry_run: Literal[False] = ...,
        receipt: str | None = ...,
        key: str | None = ...,
    ) -> StoredMessage: ...

    @overload
    def send(
        self,
        to: Some = ...,
        text: str | None = ...,
        *,
        type: str = ...,
        data: dict[str, Any] | None = ...,
        thread: str | None = ...,
        task: str | None = ...,
        within: Time = ...,
        expires: Time = ...,
        dry_run: Literal[True],
        receipt: str | None = ...,
        key: str | None = ...,
    ) -> dict[str, Any]: ...

    def send(
        self,
        to: Some = (),
        text: str | None = None,
        *,
        type: str = "note",
        data: dict[str, Any] | None = None,
        thread: str | None = None,
        task: str | None = None,
        within: Time = None,
        expires: Time = None,
        dry_run: bool = False,
        receipt: str | None = None,
        key: str | None = None,
    ) -> StoredMessage | dict[str, Any]:
        """Send a message: it is stored for every recipient, or refused. A dry run only reports what would happen.

        `receipt`: take the result in a pack's message from the receipt of a check, or from your `last` one.
        """
        return self._ask("send", locals())

    def reply(self, id: str, text: str, *, data: dict[str, Any] | None = None, key: str | None = None) -> StoredMessage:
        return self._ask("reply", locals())

    def answer(self, id: str, text: str, *, key: str | None = None) -> StoredMessage | Checkpoint | HeldEntry:
        """Answer a message or a checkpoint, whichever has this id. A checkpoint is only for people."""
        return self._ask("answer", locals())

    def inbox(self, *, all: bool = False, peek: bool = False, limit: int = 50, bytes: int = 256 << 10) -> Inbox:
        """Your mail. The returned messages count as shown, unless you peek; `all` adds recently settled ones."""
        return self._ask("inbox", locals())

    def ack(self, ids: Some, *, key: str | None = None) -> list[str]:
        """Acknowledge messages; returns their ids."""
        return self._ask("ack", locals())["acked"]

    def thread(self, id: str, *, only: bool = False) -> list[Letter]:
        return self._ask("thread", locals())

    def overdue(self, *, all: bool = False) -> list[Overdue]:
        return self._ask("overdue", locals())

    # A protocol's mailboxes

    def mailbox(self, name: str | None = None, *, task: str | None = None, all: bool = False) -> MailboxView:
        return self._ask("mailbox", locals())

    def mailboxes(self) -> list[UnreadMail]:
        """The mailboxes of the packs, each with its unread messages."""
        return self._ask("mailboxes", locals())

    def instructions(self, task: str | None = None) -> Instructions:
        return self._ask("instructions", locals())

    def pack_check(self, name: str | None = None) -> PackCheck:
        """Check the files of a pack, or of all active packs, and every entry in them. Changes nothing."""
        return self._ask("pack check", locals())

    def pack_adopt(self, name: str | None = None) -> Adoption:
        """Take over the files of a pack, or of all active packs, that agents have used without moot."""
        return self._ask("pack adopt", locals())

    # Files

    def claim(
        self,
        paths: Some,
        *,
        shared: bool = False,
        ttl: Time = None,
        reason: str | None = None,
        task: str | None = None,
        wait: bool = False,
        timeout: Time = None,
        key: str | None = None,
    ) -> Grant:
        """Claim files or globs, all or none. Relative paths are relative to where the workspace was opened.

        wait: if they are held, get in line and wait. After `TimedOut`, the same call waits on, in the same place.
        """
        return self._ask("claim", locals())

    def release(
        self,
        what: Some = (),
        *,
        all: bool = False,
        force: bool = False,
        reason: str | None = None,
        key: str | None = None,
    ) -> list[str]:
        """Release claimed files; returns what was released."""
        return self._ask("release", locals())["released"]

    def claims(self, *, holder: str | None = None) -> list[ClaimView]:
        """The live claims, then the places in line: those that wait `behind` others."""
        return self._ask("claims", locals())

    def who_holds(self, path: str) -> list[ClaimView]:
        return self._ask("who-holds", locals())

    # Held entries

    def held(self) -> list[HeldEntry]:
        return self._ask("held", locals())

    def held_show(self, id: str) -> HeldEntry:
        return self._ask("held show", locals())

    def held_drop(self, id: str, *, reason: str, key: str | None = None) -> HeldEntry:
        return self._ask("held drop", locals())

    # Documents

    def doc_list(self) -> list[ListedDocument]:
        return self._ask("doc list", locals())

    def doc_show(self, id: str) -> ShownDocument:
        return self._ask("doc show", locals())

    def doc_diff(self, id: str, *, from_: int | None = None, to: int | None = None) -> DocumentDifference:
        return self._ask("doc diff", locals())

    def doc_restore(self, id: str, *, to: int | None = None, key: str | None = None) -> RestoredDocument:
        return self._ask("doc restore", locals())

    def doc_reset(self, id: str, *, reason: str, key: str | None = None) -> RestoredDocument:
        return self._ask("doc reset", locals())

    # The log and the workspace

    @overload
    def wait(self, *, mail: Literal[True], after: int | None = ..., timeout: float | str = ...) -> Mail: ...

    @overload
    def wait(self, *, task: Some, after: int | None = ..., timeout: float | str = ...) -> list[Task]: ...

    @overload
    def wait(
        self,
        *,
        type: Some,
        stream: Some = ...,
        fail_on: Some = ...,
        count: int = ...,
        after: int | None = ...,
        timeout: float | str = ...,
    ) -> Awaited: ...

    @overload
    def wait(
        self,
        *,
        stream: Some,
        fail_on: Some = ...,
        count: int = ...,
        after: int | None = ...,
        timeout: float | str = ...,
    ) -> Awaited: ...

    @overload
    def wait(self, *, timeout: float | str = ...) -> Awoken: ...

    def wait(
        self,
        *,
        mail: bool = False,
        task: Some = (),
        type: Some = (),
        stream: Some = (),
        fail_on: Some = (),
        count: int = 1,
        after: int | None = None,
        timeout: float | str | None = None,
    ) -> Awaited | Awoken | Mail | list[Task]:
        """Wait for something to do (mail, a review, a task); or only for mail, for tasks to be done, or for events.

        Raises `TimedOut`, or `AwaitedFailed` if the awaited event was a failure.
        """
        came = self._ask("wait", locals())
        if task:
            return came["tasks"]
        return Mail.of(came) if mail else came

    def log(
        self,
        *,
        after: int | None = None,
        limit: int = 50,
        type: Some = (),
        stream: Some = (),
        task: str | None = None,
    ) -> list[Event]:
        """Stored events; `Workspace.follow` also yields new ones."""
        return self._ask("log", locals())

    def explain(self, thing: str, *, full: bool = False) -> list[Event]:
        return self._ask("explain", locals())

    def verify(self, *, rebuild: bool = False) -> Report:
        return self._ask("verify", locals())

    def mirror(self) -> list[str]:
        """Sync the packs' files with the log; returns the files. `mirror_watch` keeps them in sync."""
        return self._ask("mirror", locals())["files"]
