"""A process that gives short lives to others and ends them with SIGKILL. Commands and answers as in `worker.py`.

A life is a fork, so that a kill costs milliseconds and hundreds of them fit into a test. The keeper itself never
opens a log, and it alone ends its children, before it has waited for them: their numbers cannot mean anybody else.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
import traceback
from typing import Any

from tests.faults import lives
from tests.faults.worker import say

PATIENCE = 50.0


def live(work: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One life that ends by itself: how, and what it said."""
    child, ear = _give_birth(work, arguments)
    said = _listen(ear, 1 << 30)
    return {"code": _end(child, ear), "said": said[1:].decode()}


def live_often(work: str, arguments: dict[str, Any], times: int, most: int, births: float = 0.1) -> list[int]:
    """Lives that are killed, one after the other: how they ended.

    Each gives up to `most` signs of life and is killed at any moment until the next; some before the first one. How
    long that takes on this machine is learned on the way.
    """
    chance, ends = random.Random(), []
    getting_up = step = 0.01
    for _ in range(times):
        signs = 0 if chance.random() < births else chance.randint(1, most)
        child, ear = _give_birth(work, arguments)
        began = time.monotonic()
        _listen(ear, signs)
        took = time.monotonic() - began
        if signs == 1:
            getting_up = (getting_up + took) / 2
        elif signs:
            step = (step + max(0.0, took - getting_up) / (signs - 1)) / 2
        time.sleep(chance.uniform(0, 1.5 * (step if signs else getting_up)))
        ends.append(_end(child, ear))
    return ends


def _give_birth(work: str, arguments: dict[str, Any]) -> tuple[int, int]:
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ear)
        _be_born(work, arguments, mouth)
    os.close(mouth)
    return child, ear


def _end(child: int, ear: int) -> int:
    """End it if it has not ended. Its number stays its own until it was waited for."""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(ear)
    return os.waitstatus_to_exitcode(status)


def _be_born(work: str, arguments: dict[str, Any], mouth: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)  # what it prints is for whoever looks at the failure
    code = 1
    try:
        lives.WORK[work](mouth, **arguments)
        code = 0
    except BaseException:  # whatever it was: it must not go on as a second keeper
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _listen(ear: int, enough: int) -> bytes:
    """What the life says, until it is enough or the life is over."""
    said, deadline = b"", time.monotonic() + PATIENCE
    while len(said) < enough and (left := deadline - time.monotonic()) > 0:
        if select.select([ear], [], [], left)[0]:
            more = os.read(ear, 1 << 16)
            if not more:
                break
            said += more
    return said


COMMANDS = {"live": live, "live_often": live_often}


def _warm_up() -> None:
    """Import what moot imports late: a short life is for work."""
    import hashlib  # noqa: F401

    from moot.api import catalogue
    from moot.mirrors import sync  # noqa: F401
    from moot.packs.gsd.protocol import Gsd  # noqa: F401
    from moot.packs.orchestrator import protocol  # noqa: F401
    from moot.views import project  # noqa: F401

    for verb in catalogue.names():
        catalogue.find(verb)


def main() -> None:
    _warm_up()
    for line in sys.stdin:
        command = json.loads(line)
        say(COMMANDS[command.pop("do")](**command))


if __name__ == "__main__":
    main()
