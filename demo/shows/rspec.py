"""Agents that write RSpec tests for a branch with four changed classes, in two waves.

The project is the bookshop in `demo/bookshop`. Scripted commands stand where coding agents would: one words the
examples that moot has planned, one writes factories, one fills in the tests. moot checks each step on the real files,
and runs RSpec.
"""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from stage import HERE
from story import Line

if TYPE_CHECKING:
    from stage import Stage
    from view import Plain

    from moot import Workspace

AGENT = "agents/tester.py"
COMMAND = json.dumps([sys.executable, AGENT])
STAGES = ("test-architect", "factory-agent", "test-implementer")
SETTINGS = 'packs = ["rspec"]\n\n[run.rspec]\n' + "".join(f"{stage} = {COMMAND}\n" for stage in STAGES)
NEEDS = ("ruby", "rspec")
INSTALL = "On Debian: apt install ruby ruby-rspec ruby-factory-bot. Elsewhere: gem install rspec factory_bot."
INTRODUCTION = (
    "A branch of a small bookshop in Ruby has four new classes. Two depend on the other two.",
    "moot finds their methods, plans the tests, lets commands word and fill them in, and runs RSpec after each.",
)


def screen(_ws: Workspace) -> None:
    """Plain lines are enough."""


def play(stage: Stage, _ws: Workspace, view: Plain) -> None:
    for sentence in INTRODUCTION:
        view.tell(Line(sentence))
    shutil.copytree(HERE / "bookshop", stage.desk, dirs_exist_ok=True, ignore=shutil.ignore_patterns("app"))
    (stage.desk / "agents").mkdir()
    shutil.copy(HERE / "agents" / "rspec" / "tester.py", stage.desk / AGENT)
    stage.git("add", ".")
    stage.git("commit", "--quiet", "--message", "A bookshop without books")
    stage.git("checkout", "--quiet", "-b", "books")
    shutil.copytree(HERE / "bookshop" / "app", stage.desk / "app")
    stage.git("add", ".")
    stage.git("commit", "--quiet", "--message", "Books, customers, checkout and restocking")
    for words in (("moot", "allow", "--all", "--yes"), ("moot", "rspec", "cover", "--branch", "--yes")):
        view.say(f"\n$ {' '.join(words)}")
        done = stage.run(*words, timeout=150)
        said = done.stderr if words[1] == "rspec" else ""
        view.say((said + done.stdout).rstrip() if words[1] == "rspec" else done.stdout.splitlines()[0])
    view.say("\n$ rspec")
    view.say(stage.run("rspec", "--no-color", "--format", "documentation", timeout=60).stdout.rstrip())


def promised(stage: Stage, ws: Workspace, _view: Plain) -> dict[str, bool]:
    tests: Any = json.loads(stage.run("rspec", "--format", "json", timeout=60).stdout.splitlines()[-1])
    status = stage.run("moot", "run", "status").stdout
    runs = [run for run in ws.runs() if run.waves]
    again = stage.run("moot", "rspec", "cache", "app/models/book.rb").stdout
    return {
        "all waves have finished": [run.outcome for run in runs] == ["passed"] and "wave 1" in status,
        "RSpec is green, and nothing is pending": tests["summary"]["failure_count"] == 0
        and tests["summary"]["pending_count"] == 0
        and tests["summary"]["example_count"] == 10,
        "each class has a spec": len(list((stage.desk / "spec").rglob("*_spec.rb"))) == 4,
        "the results can be used again": "the cache is valid" in again,
        "the log is sound": stage.run("moot", "verify").returncode == 0,
    }
