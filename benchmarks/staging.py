"""Measures pipelines: what the engine costs for each stage, beside the bare command, and runs that reuse everything."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from common import Row, interleaved
from workspaces import make

from moot import Workspace
from moot.packs.rspec_v1.methods import RspecV1Methods

if TYPE_CHECKING:
    from workspaces import Stage

SHELL = ("/bin/sh", "-c", ":")
PYTHON = (sys.executable, "-c", "pass")  # `python3` can be a script that looks for an interpreter first
STAGES = 10  # of each pipeline with empty commands; a run also has a beginning and an end
_FILES, _FEW = 200, 3
_RUBY = {"full": 200, "quick": 20}
_RUBY_ROWS = (("stage.ruby_reused", "s", "< 2"), ("stage.ruby_reused_against_first", "times faster", ">= 20"))
_SOURCE = """\
class Payment{0}
  def pay(amount)
    if amount > 10
      :large
    else
      :small
    end
  end
end
"""
_HELPER = "Dir[File.join(__dir__, '../app/**/*.rb')].each { |file| require file }\n"
_METHODS = 20  # in each of the files
_REVIEWER = """
import pathlib, re, sys
prompt = sys.stdin.read()
source, review = (re.search(f"{what}: (.*)", prompt)[1] for what in ("Read the source", "Write the review"))
pathlib.Path(review).parent.mkdir(exist_ok=True)
pathlib.Path(review).write_text(pathlib.Path(source).read_text().upper())
print("status: success")
"""


def measure(stage: Stage) -> list[Row]:
    return [*_overhead(stage), *_reuse(stage), *_ruby(stage)]


def _pack(directory: str, name: str, stages: str, commands: str, files: str = "") -> Workspace:
    """A workspace with a pipeline in a folder, whose commands are allowed."""
    make(directory)
    folder = os.path.join(directory, "protocols", name)
    os.makedirs(folder)
    _write(os.path.join(folder, "pack.toml"), f'name = "{name}"\ntitle = "{name}"\nversion = "1.0"\n{files}\n{stages}')
    _write(
        os.path.join(directory, "moot.toml"),
        f'packs = ["{name}"]\n[pack.{name}]\npath = "protocols/{name}"\n[run.{name}]\n{commands}',
    )
    Workspace.init(directory).close()
    return Workspace(directory, person=True)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _overhead(stage: Stage) -> list[Row]:
    empty, python = (_beside(stage, name, words) for name, words in (("shell", SHELL), ("python", PYTHON)))
    about = "A stage, from the end of the one before in the log to its own, beside subprocess.run of the same command"
    whole = f"A run of {STAGES} such stages, from its opening to its end in the log, divided by {STAGES}"
    return [
        Row(
            "stage.overhead", empty.stage, "times bare", "<= 2.5", f"{about}, an empty one for the shell: {empty.said}."
        ),
        Row(
            "stage.overhead_least", empty.least, "times bare", None, "The same, the fastest of all beside the fastest."
        ),
        Row("stage.run_overhead", empty.whole, "times bare", None, f"{whole}: {empty.whole_said}."),
        Row(
            "stage.overhead_python",
            python.stage,
            "times bare",
            None,
            f"{about}, an empty Python program: {python.said}.",
        ),
    ]


@dataclass(frozen=True)
class _Overhead:
    """What a stage costs, beside its bare command, and the figures in words."""

    stage: float
    least: float
    said: str
    whole: float
    whole_said: str


def _beside(stage: Stage, name: str, words: tuple[str, ...]) -> _Overhead:
    """Several stages in one run beside as many bare commands, in turns.

    A stage has a time limit, and its whole process group is ended; the bare command has neither. Both start the same
    program in the same directory and read its output. The figure of a round is the median of its stages.
    """
    directory = os.path.join(stage.directory, f"staging-{name}")
    names = [f"step{number}" for number in range(STAGES)]
    tables = "\n".join(
        f'[[stage]]\nname = "{one}"\nagent = "required"\nanswer = "exit"\nreads = ["source"]' for one in names
    )
    runs, stages, bares = list[float](), list[float](), list[float]()  # the seconds of each
    with _pack(directory, "empty", tables, "\n".join(f"{one} = {json.dumps(words)}" for one in names)) as ws:
        _write(os.path.join(directory, "a.txt"), "a\n")
        ws.allow([f"empty.{one}" for one in names], yes=True)

        def engine() -> float:
            start, ends = time.perf_counter(), list[float]()
            for step in ws.run("empty", ["a.txt"], again=True):
                if step.what == "passed":
                    ends.append(time.perf_counter())
            runs.append((time.perf_counter() - start) / STAGES)
            took = [after - before for before, after in pairwise(ends)]
            stages.extend(took)
            return statistics.median(took)

        def bare() -> float:
            took = []
            for _ in names:
                start = time.perf_counter()
                subprocess.run(words, cwd=directory, check=True, capture_output=True, stdin=subprocess.DEVNULL)
                took.append(time.perf_counter() - start)
            bares.extend(took)
            return statistics.median(took)

        engine()
        rounds = interleaved({"engine": engine, "bare": bare}, stage.size.seconds / 3, stage.size.least)
    ratio, beside = rounds.ratio("engine", "bare"), f"{_figures(bares)} bare"
    return _Overhead(
        stage=ratio.median,
        least=min(stages) / min(bares),
        said=f"{_figures(stages)}, {beside}; {ratio}",
        whole=statistics.median(runs) / statistics.median(bares),
        whole_said=f"{_figures(runs)}, {beside}",
    )


def _figures(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds) * 1000:.2f} ms, least {min(seconds) * 1000:.2f} ms"


def _reuse(stage: Stage) -> list[Row]:
    many = _FILES if stage.size.seconds else _FEW
    directory = os.path.join(stage.directory, "staging-reuse")
    tables = """
[[stage]]
name = "lint"
agent = "required"
answer = "exit"
reads = ["source"]

[[stage]]
name = "review"
agent = "required"
reads = ["source"]
writes = ["review"]
"""
    lint, review = ([sys.executable, *words] for words in (("-m", "py_compile", "{source}"), ("reviewer.py",)))
    commands = f"lint = {json.dumps(lint)}\nreview = {json.dumps(review)}\n"
    with _pack(directory, "checks", tables, commands, '[pipeline.files]\nreview = "reviews/{stem}.md"') as ws:
        _write(os.path.join(directory, "reviewer.py"), _REVIEWER)
        _write(os.path.join(directory, ".gitignore"), "__pycache__/\n")
        paths = [f"module{number}.py" for number in range(many)]
        for path in paths:
            _write(os.path.join(directory, path), "".join(f"def f{n}():\n    return {n}\n" for n in range(_METHODS)))
        ws.allow(["checks.lint", "checks.review"], yes=True)
        first, again = (_timed(ws, paths) for _ in range(2))
    about = f"{many} files through 2 stages: {first:.2f} s with all commands, {again:.2f} s with everything reused."
    return [
        Row("stage.reused", again, "s", "<= 0.3", about),
        Row("stage.reused_against_first", first / again, "times faster", ">= 20", about),
    ]


def _timed(ws: Workspace, paths: list[str]) -> float:
    start = time.perf_counter()
    for _ in ws.run("checks", paths):
        pass
    return time.perf_counter() - start


def _ruby(stage: Stage) -> list[Row]:
    """Methods of Ruby through the eight stages of rspec-v1, with agents that take no time to think; then once more."""
    if shutil.which("rspec") is None:
        missing = "not measured, rspec is not installed."
        return [Row(name, None, unit, goal, missing) for name, unit, goal in _RUBY_ROWS]
    many = _RUBY.get(stage.size.name, _FEW)
    directory = os.path.join(stage.directory, "staging-ruby")
    make(directory)
    for folder in ("app/services", "spec", "tmp"):
        os.makedirs(os.path.join(directory, folder))
    _write(os.path.join(directory, ".gitignore"), "/tmp/\n")
    _write(os.path.join(directory, "spec/spec_helper.rb"), _HELPER)
    paths = [f"app/services/payment{number}.rb" for number in range(many)]
    for number, path in enumerate(paths):
        _write(os.path.join(directory, path), _SOURCE.format(number))
    agent = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ruby_agent.py")
    words = json.dumps([sys.executable, agent])
    commands = "".join(f"{name} = {words}\n" for name in ("architect", "implementer", "factory_optimizer"))
    _write(os.path.join(directory, "moot.toml"), f'packs = ["rspec-v1"]\n[run.rspec-v1]\n{commands}')
    Workspace.init(directory).close()
    with Workspace(directory, person=True) as ws:
        ws.allow(all=True, yes=True)
        rspec = ws.pack(RspecV1Methods)

        def timed() -> float:
            start = time.perf_counter()
            for path in paths:
                rspec.run(path, "pay")
            return time.perf_counter() - start

        first = timed()
        again = min(timed() for _ in range(2))
    about = f"{many} methods of Ruby through the stages of rspec-v1: {first:.2f} s with all agents, {again:.2f} s with "
    about += f"everything reused, one call for each. Given for {_FILES} methods."
    values = (again / many * _FILES, first / again)
    return [Row(name, value, unit, goal, about) for (name, unit, goal), value in zip(_RUBY_ROWS, values, strict=True)]
