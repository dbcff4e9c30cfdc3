"""When each agent was last seen: one small file per incarnation, `presence/<boot id>/<agent>.<incarnation>`.

A stamp is monotonic time. So clock changes and suspends do not count, and each boot starts from zero. This module only
measures silence. It appends no events and does not decide that a lease has lapsed.

Names in a log are not trusted, so `core.ids.file_name` makes the file name, and no symbolic link is followed.

An agent without a stamp counts as silent since boot. So a command that grants a lease stamps the holder first, and an
import or restore stamps all agents that are present in the log. A role or plan that acts only through files is stamped
when it writes to one, and when its files are first read in a boot (`moot.mirrors.sync`).
"""

from __future__ import annotations

import os

from moot.core.errors import Unavailable
from moot.core.ids import file_name
from moot.core.principal import leaves_stamps
from moot.place.private_files import check_folders, discard, open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.engine.clock import Clock

# A stamp contains the time twice. A reader that overlaps a writer may see new bytes followed by old ones. Then the two
# halves differ, and it reads again.
_HALF = 21
_WIDTH = 2 * _HALF
_LOOKS = 100

_JUST_BEFORE = 0.05  # seconds: much shorter than any lease
_RUBBISH_AFTER = 7 * 86400.0


class Presence:
    """The stamps of one workspace."""

    def __init__(self, state_dir: str, clock: Clock) -> None:
        self._clock = clock
        self._state = state_dir
        self._boots = os.path.join(state_dir, "presence")
        self._known_boot: str | None = None
        self._last: tuple[str, int, float] = ("", 0, 0.0)

    def stamp(self, agent: str, incarnation: int) -> None:
        """Record that the agent is present now. Writes nothing if this process did so within the last 50 ms."""
        now = self._clock.monotonic()
        whose, which, when = self._last
        if 0 <= now - when < _JUST_BEFORE and whose == agent and which == incarnation:
            return
        path = self._path(agent, incarnation)
        try:
            try:
                self._write(path, os.O_WRONLY)
            except FileNotFoundError:
                self._begin(path)
                # `_begin` may have replaced a newer stamp of another process of the agent.
                self._write(path, os.O_WRONLY)
        except OSError as problem:
            raise Unavailable(
                "presence_unwritable",
                f"The presence of {agent} cannot be written: {problem.strerror} ({self._boots}).",
                "Make the directory writable, or free some disk space. An agent without presence loses its leases.",
            ) from problem
        self._last = agent, incarnation, now

    def silence(self, agent: str, incarnation: int) -> float:
        """Seconds since the agent was last seen in this boot, or since boot if it has no stamp.

        A stamp from the future (possible with a time namespace) counts as now.
        """
        seen = _read(self._path(agent, incarnation))
        now = self._clock.monotonic()
        return now if seen is None else max(0.0, now - seen)

    def silence_of(self, principal: str) -> float:
        """The silence of an incarnation (`name#number`) or of a role in files; 0 for principals without stamps."""
        name, mark, incarnation = principal.partition("#")
        if mark and incarnation.isdigit():
            return self.silence(name, int(incarnation))
        if not leaves_stamps(principal):
            return 0.0
        seen = _read(self._path(principal, 0))  # None if its files have not been read in this boot
        return 0.0 if seen is None else max(0.0, self._clock.monotonic() - seen)

    def stamp_principal(self, principal: str) -> None:
        """Record that a principal that acts only through files is present."""
        self.stamp(principal, 0)

    def welcome(self, agent: str, incarnation: int) -> None:
        """Stamp somebody who was not present here, unless there is a stamp already."""
        if _read(self._path(agent, incarnation)) is None:
            self.stamp(agent, incarnation)

    def forget(self, agent: str, incarnation: int) -> None:
        """Remove the stamp of an incarnation that has left."""
        self._last = ("", 0, 0.0)
        discard(self._path(agent, incarnation))

    def _path(self, agent: str, incarnation: int) -> str:
        if self._known_boot is None:
            boot = self._clock.boot_id()
            check_folders(self._state, "presence", boot)
            self._known_boot = boot
        return f"{self._boots}/{self._known_boot}/{file_name(agent.lower())}.{incarnation}"  # case does not count

    def _write(self, path: str, flags: int) -> None:
        file = open_private(path, flags)
        try:
            half = b"%020.6f\n" % self._clock.monotonic()
            os.pwrite(file, half + half, 0)
        finally:
            os.close(file)

    def _begin(self, path: str) -> None:
        """Create the first stamp atomically: a reader must not find an empty file and take it for silence."""
        directory = os.path.dirname(path)
        if not os.path.isdir(directory):
            check_folders(self._state, "presence", os.path.basename(directory), make=True)
            self._sweep()
        draft = f"{directory}/~{self._clock.token(12)}"  # not a valid agent name
        try:
            self._write(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            os.rename(draft, path)
        except OSError:
            discard(draft)
            raise

    def _sweep(self) -> None:
        """Remove the directories of other boots after a week. Runs once per boot.

        Wall time is good enough: stamps of another boot mean nothing in this one. The week protects the stamps of a
        second kernel that shares the directory, such as one of a virtual machine.
        """
        now = self._clock.wall_seconds()
        for boot in os.listdir(self._boots):
            directory = os.path.join(self._boots, boot)
            if boot == self._known_boot or os.path.islink(directory) or not os.path.isdir(directory):
                continue
            try:
                stamps = [os.path.join(directory, name) for name in os.listdir(directory)]
                if all(now - os.stat(path).st_mtime > _RUBBISH_AFTER for path in [directory, *stamps]):
                    for path in stamps:
                        discard(path)
                    os.rmdir(directory)
            except OSError:
                continue  # another process sweeps it


def _read(path: str) -> float | None:
    """The time in a stamp; None if the file does not exist or is not a stamp."""
    for _ in range(_LOOKS):
        try:
            file = open_private(path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            # An unreadable stamp is not a missing one: counting it as silence would end the leases of live agents.
            raise Unavailable(
                "presence_unreadable",
                f"A presence stamp cannot be read: {problem.strerror} ({path}).",
                "Make the file readable, then run the command again.",
            ) from problem
        try:
            text = os.pread(file, _WIDTH, 0)
        finally:
            os.close(file)
        half = text[:_HALF]
        if len(text) == _WIDTH and half == text[_HALF:] and half[-1:] == b"\n" and half[13:14] == b".":
            digits = half[:13] + half[14:20]
            return int(digits) / 1e6 if digits.isdigit() else None
    return None
