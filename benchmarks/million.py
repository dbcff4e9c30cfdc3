"""Measures whether a very long log (a million events in the full run) makes everyday commands slower or larger."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import workspaces
from common import Row, interleaved, timed

from moot import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from workspaces import Stage

_WAITING = 10  # requests that the inbox shows each time
_BURST = 4
_DAILY = {
    "send": "A note sent",
    "inbox": f"An inbox with {_WAITING} requests read",
    "claim": "A file claimed and released",
}


def measure(stage: Stage) -> list[Row]:
    sizes = {"small": min(10_000, stage.size.many), "large": stage.size.many}
    places = {name: stage.populated(f"million-{name}", events) for name, events in sizes.items()}
    return [*_daily(stage, places, sizes), *_memory(places, sizes, stage.size.repeats)]


def _daily(stage: Stage, places: dict[str, str], sizes: dict[str, int]) -> list[Row]:
    with ExitStack() as opened:
        variants: dict[str, Callable[[], float]] = {}
        for name, place in places.items():
            sender = opened.enter_context(Workspace(place, agent=workspaces.SENDER, incarnation=1))
            reader = opened.enter_context(Workspace(place, agent=workspaces.READER, incarnation=1))
            for number in range(_WAITING):
                sender.send(workspaces.READER, f"Question {number}", type="request")
            reader.inbox()
            variants[f"send {name}"] = timed(partial(sender.send, workspaces.OTHER, "The parser is on main."), _BURST)
            variants[f"inbox {name}"] = timed(reader.inbox, _BURST)
            variants[f"claim {name}"] = timed(partial(_claim, sender), _BURST)
        interleaved(variants, 0, 3)
        rounds = interleaved(variants, stage.size.seconds, stage.size.least)
    rows = []
    for verb, what in _DAILY.items():
        ratio = rounds.ratio(f"{verb} large", f"{verb} small")
        large, small = (rounds.median(f"{verb} {name}") * 1e6 for name in ("large", "small"))
        note = (
            f"{what} in one process: {large:,.0f} µs with {sizes['large']:,} events in the log, "
            f"{small:,.0f} µs with {sizes['small']:,}; {ratio}."
        )
        rows.append(Row(f"million.{verb}", ratio.median, "x small log", "<= 1.3", note))
    return rows


def _claim(ws: Workspace) -> None:
    ws.claim("src/parser.py")
    ws.release("src/parser.py")


# The peak memory of this process only. `getrusage` would include the process that started it.
_SCRIPT = """
import sys
from moot.surfaces.cli.main import main
code = main(sys.argv[1:])
with open("/proc/self/status") as file:
    print(*(line.split()[1] for line in file if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


def _memory(places: dict[str, str], sizes: dict[str, int], repeats: int) -> list[Row]:
    """The peak memory of a command."""
    rows = []
    for words in (["inbox"], ["send", workspaces.OTHER, "hello"]):
        name = f"million.memory.{words[0]}"
        if sys.platform != "linux":
            rows.append(Row(name, None, "x small log", "<= 1.1", "Measured on Linux only."))
            continue
        most = {size: min(_peak(place, words) for _ in range(repeats)) for size, place in places.items()}
        note = (
            f"`moot {words[0]}` takes at most {most['large'] / 1024:.1f} MiB with {sizes['large']:,} events in the "
            f"log, {most['small'] / 1024:.1f} MiB with {sizes['small']:,}."
        )
        rows.append(Row(name, most["large"] / most["small"], "x small log", "<= 1.1", note))
    return rows


def _peak(place: str, words: list[str]) -> int:
    env = {**os.environ, "MOOT_AGENT": workspaces.SENDER}
    command = [sys.executable, "-c", _SCRIPT, *words]
    done = subprocess.run(command, cwd=place, env=env, check=True, capture_output=True, text=True, timeout=120)
    return int(done.stderr.split()[-1])
