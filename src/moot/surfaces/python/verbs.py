"""The verbs of the catalogue as typed methods.

Names, defaults and meaning are the catalogue's (a test compares them); what is written here is only what a type checker
and an editor need: the types. Arguments that the command line takes by position may be given by position, the
others are given by name. Where the command line takes several, one text or a sequence of them will do. Durations are
seconds, or a text such as "30m".
"""

# A verb's arguments keep their names, also where Python has a function of that name. What a verb answers is known to
# its own module; that it is what stands here, the tests of this module say.
# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import overload  # noqa: TID253 (no command loads this module)

from moot.core.record import Record
from moot.surfaces.python.carrying import Carrying
from moot.surfaces.python.handling import Handling
from moot.surfaces.python.searching import Searching
from moot.surfaces.python.tasks import Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from moot.api.message_view import Letter
    from moot.api.verbs.agents import Me, Member
    from moot.api.verbs.claims import ClaimView, Grant
    from moot.api.verbs.events import Awaited
    from moot.api.verbs.mail.inbox import Inbox, Overdue
    from moot.api.verbs.mail.mailbox import Instructions, MailboxView
    from moot.api.verbs.mail.send import StoredMessage
    from moot.core.deciders.entry import HeldEntry
    from moot.core.event import Event
    from moot.core.task import Task
    from moot.engine.verify import Report

    Some = str | Sequence[str]
    Time = float | str | None


class Mail(Record):
    """What waits in the inbox and was not shown yet."""

    new: int
    ids: tuple[str, ...]


class Verbs(Tasks, Handling, Searching, Carrying):
    """See the module. Every method raises errors of `moot.core.errors` and nothing else that can be foreseen."""

    # Who is here

    def join(
        self,
        name: str | None = None,
        *,
        role: Some = (),
        client: str | None = None,
        take_over: bool = False,
        key: str | None = None,
    ) -> Member:
        """Become an agent. From then on this workspace acts as that agent; a refused join changes nothing."""
        return self._ask("join", locals())

    def leave(
        self, name: str | None = None, *, retire: bool = False, reason: str | None = None, key: str | None = None
    ) -> Member:
        """Leave (or, by name, let another agent leave); what it holds is given back."""
        return self._ask("leave", locals())

    def whoami(self) -> Me:
        """Who this workspace acts as, and why."""
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
        key: str | None = None,
    ) -> StoredMessage | dict[str, Any]:
        """Send a message: stored for every recipient, or refused now. A dry run says what would happen."""
        return self._ask("send", locals())

    def reply(self, id: str, text: str, *, data: dict[str, Any] | None = None, key: str | None = None) -> StoredMessage:
        return self._ask("reply", locals())

    def inbox(self, *, all: bool = False, peek: bool = False, limit: int = 50, bytes: int = 256 << 10) -> Inbox:
        """Your mail. What is returned counts as shown, unless you peek; `all` is for those who print it."""
        return self._ask("inbox", locals())

    def ack(self, ids: Some, *, key: str | None = None) -> list[str]:
        """Confirm messages; their ids come back."""
        return self._ask("ack", locals())["acked"]

    def thread(self, id: str, *, only: bool = False) -> list[Letter]:
        return self._ask("thread", locals())

    def overdue(self, *, all: bool = False) -> list[Overdue]:
        return self._ask("overdue", locals())

    # A protocol's mailboxes

    def mailbox(self, name: str | None = None, *, task: str | None = None, all: bool = False) -> MailboxView:
        return self._ask("mailbox", locals())

    def mailbox_clear(
        self, name: str, *, task: str | None = None, force: bool = False, key: str | None = None
    ) -> list[str]:
        """Take messages out of a protocol's file; their ids come back."""
        return self._ask("mailbox clear", locals())["cleared"]

    def mailbox_restore(self, name: str, *, task: str | None = None, key: str | None = None) -> list[str]:
        """Put back what a clear had taken out of the file; the ids come back."""
        return self._ask("mailbox restore", locals())["restored"]

    def instructions(self, task: str | None = None) -> Instructions:
        return self._ask("instructions", locals())

    # Files

    def claim(
        self,
        paths: Some,
        *,
        shared: bool = False,
        ttl: Time = None,
        reason: str | None = None,
        task: str | None = None,
        key: str | None = None,
    ) -> Grant:
        """Hold files or globs, all of them or none. Relative paths start where the workspace was opened."""
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
        """Give claimed files back; what was released comes back."""
        return self._ask("release", locals())["released"]

    def claims(self, *, holder: str | None = None) -> list[ClaimView]:
        return self._ask("claims", locals())

    def who_holds(self, path: str) -> list[ClaimView]:
        return self._ask("who-holds", locals())

    # What could not be taken

    def held(self) -> list[HeldEntry]:
        return self._ask("held", locals())

    def held_show(self, id: str) -> HeldEntry:
        return self._ask("held show", locals())

    def held_resubmit(self, id: str, *, data: dict[str, Any] | None = None, key: str | None = None) -> StoredMessage:
        return self._ask("held resubmit", locals())

    def held_drop(self, id: str, *, reason: str, key: str | None = None) -> HeldEntry:
        return self._ask("held drop", locals())

    # The log, and the workspace

    @overload
    def wait(self, *, mail: Literal[True], after: int | None = ..., timeout: float | str = ...) -> Mail: ...

    @overload
    def wait(self, *, task: Some, after: int | None = ..., timeout: float | str = ...) -> list[Task]: ...

    @overload
    def wait(
        self,
        *,
        type: Some = ...,
        stream: Some = ...,
        fail_on: Some = ...,
        count: int = ...,
        after: int | None = ...,
        timeout: float | str = ...,
    ) -> Awaited: ...

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
        timeout: float | str = 600.0,
    ) -> Awaited | Mail | list[Task]:
        """Wait for mail, tasks or events. Raises `TimedOut`, or `AwaitedFailed` when it came and had failed."""
        came = self._ask("wait", locals())
        if task:
            return came["tasks"]
        return Mail.of(came) if mail else came

    def log(self, *, after: int | None = None, limit: int = 50, type: Some = (), stream: Some = ()) -> list[Event]:
        """What happened; `Workspace.follow` goes on as new events come."""
        return self._ask("log", locals())

    def explain(self, thing: str) -> list[Event]:
        return self._ask("explain", locals())

    def verify(self, *, rebuild: bool = False) -> Report:
        return self._ask("verify", locals())

    def mirror(self) -> list[str]:
        """Bring the packs' files and the log into step; the files come back. `mirror_watch` keeps them so."""
        return self._ask("mirror", locals())["files"]
