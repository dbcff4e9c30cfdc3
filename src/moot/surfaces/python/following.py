"""Following with asyncio: a thread waits for events and passes them to the event loop.

The thread has its own call, because only one thread at a time can use a handle on the log. It always closes that call.
Closing the write end of a pipe ends the thread. Only `follow_async` loads this module.
"""

from __future__ import annotations

import asyncio  # noqa: TID253 (no command loads this module)
import os
import threading  # noqa: TID253
from collections import deque

from moot.api.following import ROUND, Heard, follow
from moot.core.errors import Unavailable, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.api.workspace import Workspace
    from moot.core.identity import Caller

_AHEAD = 4  # rounds of events that may wait for a slow consumer


class Follower:
    """One thread that follows, and the events it received. Only `_run` and what it calls run in the thread."""

    def __init__(
        self,
        workspace: Workspace,
        caller: Caller,
        after: int,
        end: float | None,
        types: tuple[str, ...],
        streams: tuple[str, ...],
        task: str | None,
    ) -> None:
        self.heard: deque[Heard] = deque()
        self.failure: BaseException | None = None
        self._workspace, self._caller = workspace, caller
        self._wanted = after, end, types, streams, task
        self._room = threading.Semaphore(_AHEAD)
        self._stopping = False
        self._task: asyncio.Task[Any] | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._closing = threading.Lock()
        try:
            self._stop, self._hold = os.pipe()
        except OSError as error:
            raise _too_many(str(error.strerror)) from error
        self._held = True
        try:
            threading.Thread(target=self._run, name="moot-follower", daemon=True).start()
        except RuntimeError as error:
            self.stop()
            os.close(self._stop)
            raise _too_many(str(error)) from error

    async def next(self) -> Heard | None:
        """The next events; None at the end."""
        self._belong_to(asyncio.current_task())
        while not self.heard:
            if self._ended.is_set():
                return None
            await self._news.wait()
            self._news.clear()
        self._room.release()
        return self.heard.popleft()

    def stop(self) -> None:
        """End the thread. Safe to call repeatedly and from any thread."""
        self._stopping = True
        with self._closing:
            if self._held:
                self._held = False
                os.close(self._hold)
        self._room.release()

    async def ended(self) -> None:
        if not self._loop.is_closed():
            await self._ended.wait()

    def _belong_to(self, task: asyncio.Task[Any] | None) -> None:
        """Stop when the task is cancelled: a task cancelled while it handles an event never closes the follower.

        A task that returns normally is ignored: it may have been created for a single event.
        """
        if task is not None and task is not self._task:
            self._task = task
            task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        if task is self._task and task.cancelled() and not self._ended.is_set():
            self.failure = Usage(
                "follower_abandoned",
                "The task of this follower was cancelled.",
                "Follow again from the last position you have seen: follow_async(after=…).",
            )
            self.stop()

    # --- in the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            self._follow()
        except BaseException as error:  # the outermost edge of a thread: the consumer raises it
            failure = error
        finally:
            self.stop()
            os.close(self._stop)
        self._tell(None, failure)

    def _follow(self) -> None:
        after, end, types, streams, task = self._wanted
        self._workspace.check_log()
        with self._workspace.call(self._caller) as call:
            for heard in follow(call, after, types, streams, task=task, end=end, stop=self._stop):
                if (heard.events or heard.warnings) and not self._has_room(call):
                    return
                if self._stopping or not self._tell(heard):
                    return

    def _has_room(self, call: Call) -> bool:
        """Wait until the consumer has taken enough. A slow consumer still counts as present."""
        while not self._room.acquire(timeout=ROUND):
            if self._loop.is_closed():
                return False
            try:
                call.stamp()
            except Unavailable:
                pass  # the next round reports it
        return True

    def _tell(self, heard: Heard | None, failure: BaseException | None = None) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._told, heard, failure)
        except RuntimeError:  # the event loop is closed
            return False
        return True

    def _told(self, heard: Heard | None, failure: BaseException | None) -> None:
        if heard is None:
            self.failure = self.failure or failure
            self._ended.set()
        elif heard.events or heard.warnings:
            self.heard.append(heard)
        self._news.set()


def _too_many(why: str) -> Unavailable:
    return Unavailable(
        "too_many_followers",
        f"Cannot start another follower: {why}.",
        "End some followers, or follow once and pass the events on.",
    )
