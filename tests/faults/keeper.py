"""A process that gives short lives to others and ends them with SIGKILL. Commands and answers as in `worker.py`.

A life is a fork, so that a kill costs milliseconds and hundreds of them fit into a test. The keeper itself never
opens a log, and it alone ends its children, before it has waited for them: their numbers cannot mean anybody else.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from typing import Any

from tests.faults import lives
from tests.faults.worker import say

PATIENCE = 50.0


def live(work: str, arguments: dict[str, Any], after: float | None = None, from_birth: bool = False) -> dict[str, Any]:
    """One life. It is killed `after` seconds from its first sign (or from birth); without, it ends by itself."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ear)
        _be_born(work, arguments, mouth)
    os.close(mouth)
    try:
        said = b"" if from_birth else _listen(ear, 1)
        if after is None:
            said += _listen(ear, 1 << 30)
        else:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        said += _rest(ear)
    finally:
        os.close(ear)
    return {"code": os.waitstatus_to_exitcode(status), "said": said[1:].decode()}


def live_often(
    work: str, arguments: dict[str, Any], times: int, longest: float, births: float = 0.1
) -> list[dict[str, Any]]:
    """Lives that are killed at random moments, one after the other; some while they are still getting up."""
    import random

    chance = random.Random()
    return [live(work, arguments, chance.uniform(0, longest), chance.random() < births) for _ in range(times)]


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


def _rest(ear: int) -> bytes:
    said = b""
    while more := os.read(ear, 1 << 16):
        said += more
    return said


COMMANDS = {"live": live, "live_often": live_often}


def _warm_up() -> None:
    """Import what moot imports late: a short life is for work."""
    import hashlib  # noqa: F401

    from moot.api import catalogue
    from moot.logs.sqlite import codec  # noqa: F401
    from moot.mirrors import sync  # noqa: F401
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
