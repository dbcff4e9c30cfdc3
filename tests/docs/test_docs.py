"""Every command in the documentation is run, in order, and answers what is written there.

In a ```console block a line that begins with `$ ` is a command (with its here-document, up to END) and the lines below
it are its output. Ids (m-…, c-…, d-…, e-…, h-…, k-…), times and durations may differ; an id that the page shows stands
for the real one in later commands. A line `…` stands for any number of lines. Each page gets a new git repository with
one commit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "AGENTS.md", ROOT / "CONTRIBUTING.md"]
ID = re.compile(r"\b(?:(?:[cdhkmr]|run)-[0-9a-hjkmnp-tv-z]{7}|e-[0-9a-hjkmnp-tv-z]{10})\b")
VARYING = re.compile(
    r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z| [\d:]+ (?:[A-Z]+|[+-]\d{4}))"
    r"|\b\d+(\.\d+)? s\b|\bsilent \d+\b|runner-\w+#\d+|person:\w+|/[\w./-]*/(?=\.git|repo)"
    r"|\b\d\d:\d\d:\d\d\b|\b(?:now|\d+[smhd](?:\d+[smh])?(?: ago)?)\b *"
)


def blocks(page: Path) -> list[list[tuple[str, list[str]]]]:
    """The console blocks of a page: per block its commands, each with the output that is shown."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        commands: list[tuple[str, list[str]]] = []
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif "<<'END'" in commands[-1][0] and not commands[-1][0].endswith("\nEND"):
                commands[-1] = (f"{commands[-1][0]}\n{line}", [])
            else:
                commands[-1][1].append(line)
        found.append(commands)
    return found


class Page:
    """A repository in which the commands of one page are run."""

    def __init__(self, directory: Path) -> None:
        self.repo = directory / "repo"
        self.real: dict[str, str] = {}
        binaries = directory / "bin"
        binaries.mkdir()
        script = binaries / "moot"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m moot "$@"\n')
        script.chmod(0o755)
        self.env = {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "HOME": str(directory),
            "MOOT_PERSON": "1",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(ROOT / "src"),
            "XDG_RUNTIME_DIR": str(directory),
        }
        self.exported = ""
        name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", "init", "-q", str(self.repo)], check=True)
        subprocess.run(["git", "-C", str(self.repo), *name, "commit", "-q", "--allow-empty", "-m", "start"], check=True)

    def run(self, command: str) -> list[str]:
        for shown, real in self.real.items():
            command = command.replace(shown, real)
        script = f"{self.exported}\n{command}\n"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        self.exported += "".join(f"{line}\n" for line in command.splitlines() if line.startswith(("export ", "cd ")))
        assert "Traceback" not in done.stderr
        return (done.stdout + done.stderr).splitlines()

    def learn(self, shown: str, real: str) -> None:
        self.real.update(zip(ID.findall(shown), ID.findall(real), strict=False))


def alike(shown: str, real: str) -> bool:
    return _plain(shown) == _plain(real)


def _plain(line: str) -> str:
    return VARYING.sub("~", ID.sub("ID", line)).rstrip()


def compare(page: Page, shown: list[str], real: list[str], command: str) -> None:
    rest = list(real)
    skipping = False
    for line in shown:
        if line.strip() == "…":
            skipping = True
            continue
        while skipping and rest and not alike(line, rest[0]):
            rest.pop(0)
        assert rest, f"{command!r} did not print {line!r}; it printed {real}"
        assert alike(line, rest[0]), f"{command!r} printed {rest[0]!r}, the page says {line!r}; all of it: {real}"
        page.learn(line, rest.pop(0))
        skipping = False
    assert skipping or not rest, f"{command!r} also printed {rest}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_answer_what_it_says(path: Path, tmp_path: Path) -> None:
    page = Page(tmp_path)
    for commands in blocks(path):
        for command, shown in commands:
            compare(page, shown, page.run(command), command)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}, which is not there"


# What the pages say about the tree

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def promises() -> dict[int, list[str]]:
    """Number and cells of each row of the table of promises."""
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", ARCHITECTURE, re.MULTILINE)
    return {int(number): [cell.strip() for cell in cells.split("|")] for number, cells in rows}


def test_every_promise_is_found_by_its_number() -> None:
    scope, pins = (tomllib.loads((ROOT / "tests/specs" / name).read_text()) for name in ("scope.toml", "pins.toml"))
    assert list(promises()) == list(range(1, len(pins["promises"]) + 1))
    unbuilt = [str(number) for number, (_, kept_by, _) in promises().items() if kept_by == "not built yet"]
    assert unbuilt == list(scope["promises"]["deferred"])


@pytest.mark.parametrize(("number", "cells"), promises().items(), ids=lambda value: str(value)[:40])
def test_what_keeps_a_promise_and_what_tries_to_break_it_are_where_the_page_says(number: int, cells: list[str]) -> None:
    _, kept_by, broken_by = cells
    for path in re.findall(r"`([\w/.]+)`", kept_by):
        assert (ROOT / "src" / "moot" / path).exists(), path
    for path in re.findall(r"`([\w/.]+)`", broken_by):
        assert f"promise({number})" in (ROOT / path).read_text(encoding="utf-8"), path


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_layers_on_a_page_are_those_that_are_checked(page: str) -> None:
    checks = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [layer for layer in checks[0]["layers"] if not layer.startswith("(")]
    assert f"`{' > '.join(layers)}`" in (ROOT / page).read_text(encoding="utf-8")


def test_the_how_to_tells_what_init_does_about_settings_that_exist(tmp_path: Path) -> None:
    page = Page(tmp_path)
    page.run("echo > moot.toml")
    told = page.run("moot init --pack orchestrator 2>&1; echo code $?")
    assert told[-1] == "code 2"
    assert any('packs = ["orchestrator"]' in line for line in told)
    assert page.run("moot board") == ["No tasks yet: moot task add 'Title'"]
