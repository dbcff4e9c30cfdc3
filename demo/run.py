"""Shows what moot is for, in half a minute, with real processes in a temporary repository.

    make demo                       four agents build one small program together
    make demo SHOW=orchestrator     a team lead and a developer that know only the files of their protocol
    make demo SHOW=gsd              executors of plans that know only the event file of their protocol
    make demo SHOW=specflow         waves of agents, one for each issue, with gates between them
    make demo SHOW=rspec            agents that write RSpec tests for a branch of a Ruby project
    .venv/bin/python demo/run.py --help

A show is a module in `demo/shows`:

    SETTINGS                        the moot.toml of the repository
    NEEDS                           the programs that must be installed
    screen(ws)                      the picture for a terminal; None: plain lines only
    play(stage, ws, view)           starts the processes, and follows the log until they are done
    promised(stage, ws, view)       what must hold in the end: sentences, and whether each is true
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from play import PlayStopped
from stage import Stage
from view import Plain

from moot import Workspace

SHOWS = sorted(path.stem for path in (Path(__file__).parent / "shows").glob("*.py"))
INTERRUPTED, NOBODY_READS, TERMINATED = 130, 141, 143
SMALLEST = os.terminal_size((70, 20))


def main() -> int:
    options = _options()
    show: Any = importlib.import_module(f"shows.{options.show}")
    missing = [program for program in ("git", *show.NEEDS) if shutil.which(program) is None]
    if missing:
        advice = f" {show.INSTALL}" if hasattr(show, "INSTALL") else ""
        sys.exit(f"This show needs {' and '.join(missing)}.{advice}")
    stage = Stage(options.speed, show.SETTINGS)
    os.environ.clear()
    os.environ.update(stage.env)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        stage.build()
        with Workspace.init(stage.desk) as ws:
            view = (None if options.plain or not _can_show_pictures() else show.screen(ws)) or Plain()
            view.begin()
            try:
                show.play(stage, ws, view)
            finally:
                view.end()
            return _report(show.promised(stage, ws, view), view)
    except PlayStopped as stopped:
        print(f"\nThe demo failed. {stopped}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    finally:
        stage.clear(keep=options.keep)
        if options.keep:
            print(f"\nKept in {stage.root}. Look around:\n  cd {stage.desk}")
            print(f"  PATH={stage.root}/bin:$PATH\n  moot log; moot board --all; moot explain TASK")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--show", choices=SHOWS, default="team", help="which show (default team)")
    parser.add_argument("--plain", action="store_true", help="print plain lines, even on a terminal")
    parser.add_argument("--speed", type=float, default=1.0, help="how fast the agents work (default 1)")
    parser.add_argument("--keep", action="store_true", help="keep the repository, and print how to explore it")
    options = parser.parse_args()
    if options.speed <= 0:
        parser.error("--speed must be more than 0")
    return options


def _can_show_pictures() -> bool:
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb" or sys.stdout.encoding.lower() != "utf-8":
        return False
    size = os.get_terminal_size(sys.stdout.fileno())
    return size.columns >= SMALLEST.columns and size.lines >= SMALLEST.lines


def _report(promised: dict[str, bool], view: Plain) -> int:
    for sentence, kept in promised.items():
        view.say(f"{'ok  ' if kept else 'NOT '} {sentence}", "green" if kept else "bold red")
    return 0 if all(promised.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
