"""Measures pipelines: what the engine costs for each stage, beside the bare command, and runs that reuse everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from common import Row, interleaved
from workspaces import make

from moot import Workspace

if TYPE_CHECKING:
    from workspaces import Stage

SHELL = ("/bin/sh", "-c", ":")
PYTHON = (sys.executable, "-c", "pass")  # `python3` can be a script that looks for an interpreter first
STAGES = 5  # of each pipeline with empty commands; a run also has a beginning and an end
_FILES, _FEW = 200, 3
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
    return [*_overhead(stage), *_reuse(stage)]


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
    about = "A stage from its start to its end in the log, beside subprocess.run of its command"
    return [
        Row("stage.overhead", empty[0], "times bare", "<= 3", f"{about}, an empty one for the shell: {empty[1]}."),
        Row("stage.overhead_python", python[0], "times bare", None, f"{about}, an empty Python program: {python[1]}."),
    ]


def _beside(stage: Stage, name: str, words: tuple[str, ...]) -> tuple[float, str]:
    """How much longer a stage takes than its bare command, and the figures in words."""
    directory = os.path.join(stage.directory, f"staging-{name}")
    names = [f"step{number}" for number in range(STAGES)]
    tables = "\n".join(
        f'[[stage]]\nname = "{one}"\nagent = "required"\nanswer = "exit"\nreads = ["source"]' for one in names
    )
    with _pack(directory, "empty", tables, "\n".join(f"{one} = {json.dumps(words)}" for one in names)) as ws:
        _write(os.path.join(directory, "a.txt"), "a\n")
        ws.allow([f"empty.{one}" for one in names], yes=True)

        def engine() -> float:
            start = time.perf_counter()
            for _ in ws.run("empty", ["a.txt"], again=True):
                pass
            return (time.perf_counter() - start) / STAGES

        def bare() -> float:
            start = time.perf_counter()
            for _ in names:
                subprocess.run(words, cwd=directory, check=True, capture_output=True, stdin=subprocess.DEVNULL)
            return (time.perf_counter() - start) / STAGES

        engine()
        rounds = interleaved({"engine": engine, "bare": bare}, stage.size.seconds / 3, stage.size.least)
    ratio = rounds.ratio("engine", "bare")
    took, beside = (rounds.median(one) * 1000 for one in ("engine", "bare"))
    return ratio.median, f"{took:.1f} ms and {beside:.1f} ms; {ratio}"


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
        paths = [f"module{number}.py" for number in range(many)]
        for path in paths:
            _write(os.path.join(directory, path), "".join(f"def f{n}():\n    return {n}\n" for n in range(_METHODS)))
        ws.allow(["checks.lint", "checks.review"], yes=True)
        first, again = (_timed(ws, paths) for _ in range(2))
    about = f"{many} files through 2 stages: {first:.2f} s with all commands, {again:.2f} s with everything reused."
    return [
        Row("stage.reused", again, "s", "< 2", about),
        Row("stage.reused_against_first", first / again, "times faster", ">= 20", about),
    ]


def _timed(ws: Workspace, paths: list[str]) -> float:
    start = time.perf_counter()
    for _ in ws.run("checks", paths):
        pass
    return time.perf_counter() - start
