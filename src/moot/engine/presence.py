"""Who was seen when: one small file per incarnation of an agent, `presence/<boot id>/<agent>.<incarnation>`.

A stamp is monotonic time, so wall-clock jumps and suspends do not count, and a new boot starts the count anew.
Nothing here appends an event or decides that a lease is over: it measures silence, others judge it.

What a log says may come from anywhere, so the file is named by `core.ids.file_name`, and no link is followed.

An agent without a stamp looks silent since boot. So whoever gives out a lease stamps its holder first, and whoever
brings in a log from elsewhere stamps all who are here in it. A role or plan that is known by its files alone is stamped
when it writes into one, and when its files are first looked at in a boot (`moot.mirrors.sync`).
"""

from __future__ import annotations

import os

from moot.core.errors import Unavailable
from moot.core.ids import file_name
from moot.core.principal import leaves_stamps
from moot.private_files import check_folders, open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.engine.clock import Clock

# The time stands in a stamp twice. A reader that overlaps a writer may see new bytes followed by old ones;
# then the two halves differ, and it looks again.
_HALF = 21
_WIDTH = 2 * _HALF
_LOOKS = 100

_JUST_BEFORE = 0.05  # seconds: no lease is shorter than a multiple of this
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
        """Say that the agent is here now; by one who said so just before, it need not be written again."""
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
                # The time that `_begin` wrote may be old by now, if another process of the agent was faster.
                self._write(path, os.O_WRONLY)
        except OSError as problem:
            raise Unavailable(
                "presence_unwritable",
                f"The presence of {agent} cannot be written: {problem.strerror} ({self._boots}).",
                "Make the directory writable, or free some space: an agent that cannot be seen loses its leases.",
            ) from problem
        self._last = agent, incarnation, now

    def silence(self, agent: str, incarnation: int) -> float:
        """Seconds since the agent was last seen in this boot; without a stamp, since boot.

        A stamp from the future (it takes a time namespace to write one) counts as now.
        """
        seen = _read(self._path(agent, incarnation))
        now = self._clock.monotonic()
        return now if seen is None else max(0.0, now - seen)

    def silence_of(self, principal: str) -> float:
        """The silence of an incarnation, written `name#number`, or of a role in files; 0 for those without stamps."""
        name, mark, incarnation = principal.partition("#")
        if mark and incarnation.isdigit():
            return self.silence(name, int(incarnation))
        if not leaves_stamps(principal):
            return 0.0
        seen = _read(self._path(principal, 0))  # nothing is known of one that no file was looked at for in this boot
        return 0.0 if seen is None else max(0.0, self._clock.monotonic() - seen)

    def stamp_principal(self, principal: str) -> None:
        """Say that somebody who is known by files alone has written into one."""
        self.stamp(principal, 0)

    def welcome(self, agent: str, incarnation: int) -> None:
        """Stamp one who came with a log from elsewhere. Silence that was measured here is not made shorter."""
        if _read(self._path(agent, incarnation)) is None:
            self.stamp(agent, incarnation)

    def forget(self, agent: str, incarnation: int) -> None:
        """Remove the stamp of an incarnation that has left for good."""
        self._last = ("", 0, 0.0)
        _unlink(self._path(agent, incarnation))

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
        """Put a first stamp in place as a whole: nobody must find an empty one and take it for silence."""
        directory = os.path.dirname(path)
        if not os.path.isdir(directory):
            check_folders(self._state, "presence", os.path.basename(directory), make=True)
            self._sweep()
        draft = f"{directory}/~{self._clock.token(12)}"  # no agent is called this
        try:
            self._write(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            os.rename(draft, path)
        except OSError:
            _unlink(draft)
            raise

    def _sweep(self) -> None:
        """Remove the directories of other boots once they are surely rubbish. Runs once per boot.

        Wall time is good enough here: another boot's stamps mean nothing in this one, whatever their age. The
        week is for a second kernel that shares the directory (a container's), which must not lose its stamps.
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
                        _unlink(path)
                    os.rmdir(directory)
            except OSError:
                continue  # somebody else sweeps it


def _read(path: str) -> float | None:
    """The time in a stamp; None if there is none, or if what is there was never a stamp."""
    for _ in range(_LOOKS):
        try:
            file = open_private(path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            # Not seen is not the same as not there: taking it for silence would end leases of the living.
            raise Unavailable(
                "presence_unreadable",
                f"A presence stamp cannot be read: {problem.strerror} ({path}).",
                "Make the file readable for you, and run the command again.",
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


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # gone already, or it stays until its boot is swept
