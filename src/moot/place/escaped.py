"""Finds processes that a program has started and that left its process group, so that they end with it. Linux only.

Two signs: it descends from the program, or it has the mark of the program in its environment, which it inherits even
if its parent has ended. Only a process that has lost both escapes: its parents ended, and it was given another
environment.

No other process is ever signalled. One that is older than the program is not looked at. A process is opened before it
is checked a second time, and signalled through what was opened, so its number cannot belong to another one by then.
"""

from __future__ import annotations

import os
import signal
from secrets import token_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MARK = "MOOT_PROGRAM"  # the variable with the marks of all programs around a process
_LARGEST = 4 << 20  # bytes of an environment
_MOST = 10_000  # processes


def new_mark() -> str:
    return token_hex(8)


def marked(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """An environment with a mark, besides those of the programs around this process."""
    return {**env, MARK: " ".join((*os.environ.get(MARK, "").split()[-9:], mark))}


def start_of(process: int) -> int | None:
    """When a process started, as the system counts; None if there is none, or the system does not say."""
    found = _stat(process)
    return found[1] if found is not None else None


def signal_escaped(number: signal.Signals, program: int, since: int, mark: str) -> bool:
    """Signal what descends from a program, or has its mark. `since`: when it started. Whether there was something."""
    found = False
    for process, start in _escaped(program, since, mark):
        found = _signalled(process, start, number) or found
    return found


def _signalled(process: int, start: int, number: signal.Signals) -> bool:
    try:
        opened = os.pidfd_open(process)
    except (AttributeError, OSError):
        return False
    try:
        if start_of(process) != start:
            return False
        signal.pidfd_send_signal(opened, number)
    except OSError:
        return False
    finally:
        os.close(opened)
    return True


def _escaped(program: int, since: int, mark: str) -> Iterator[tuple[int, int]]:
    young = {one: found for one, found in _processes() if found[1] >= since and one != os.getpid()}
    alive = young.pop(program, (0, -1))[1] == since  # otherwise its number may belong to another program by now
    family = {program} if alive else set[int]()
    while more := {one for one, (parent, _) in young.items() if parent in family} - family:
        family |= more
    for one, (_, start) in young.items():
        if one in family or _has_mark(one, mark):
            yield one, start


def _has_mark(process: int, mark: str) -> bool:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            names = file.read(_LARGEST).split(b"\0")
    except OSError:
        return False  # it has ended, or belongs to another account
    given = next((name for name in names if name.startswith(f"{MARK}=".encode())), b"")
    return bool(mark) and mark.encode() in given.partition(b"=")[2].split()


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """All processes, each with its parent and when it started."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for name in names[:_MOST]:
        found = _stat(int(name))
        if found is not None:
            yield int(name), found


def _stat(process: int) -> tuple[int, int] | None:
    try:
        file = os.open(f"/proc/{process}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fields = os.read(file, 1024).rpartition(b")")[2].split()
        finally:
            os.close(file)
        return int(fields[1]), int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
