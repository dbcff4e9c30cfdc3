"""Several agents want the same file: they wait in line, give up, are killed and come back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from moot import Workspace
from tests.surfaces.command import PATIENCE, Command, new_command

if TYPE_CHECKING:
    from pathlib import Path

FILE = "src/parser.py"


def meet(tmp_path: Path) -> Command:
    run = new_command(tmp_path)
    Workspace.init(run.repo).close()
    for name in ("Ada", "Bob", "Cid"):
        with Workspace(run.repo) as ws:
            ws.join(name)
    assert run("claim", FILE, agent="Ada").code == 0
    return run


def in_line(run: Command) -> list[tuple[str, list[str]]]:
    claims = run("claims", "--json").result
    return [(claim["holder"], claim["behind"]) for claim in claims]


def events(run: Command) -> list[tuple[str, str]]:
    """Type and commit of the events of claims."""
    log = json.loads(run("log", "--stream", "claims", "--json").out)["result"]
    return [(event["type"], event["commit"]) for event in log]


def test_two_agents_want_one_file_and_a_third_gives_up(tmp_path: Path) -> None:
    run = meet(tmp_path)
    held = run("claim", FILE, agent="Bob")
    assert (held.code, "--wait" in held.err) == (3, True)
    waiter = run.popen("claim", FILE, "--wait", "--json", agent="Bob")
    assert waiter.stderr is not None
    assert re.search(rf"c-\w+ waits behind Ada \(holds {FILE}\)", waiter.stderr.readline())
    tired = run("claim", FILE, "--wait", "--timeout", "0", agent="Cid")
    assert tired.code == 5
    assert re.search(rf"behind Ada \(holds {FILE}\), Bob \(waits for {FILE}\)", tired.err)
    assert in_line(run) == [("Ada#1", []), ("Bob#1", ["Ada#1"]), ("Cid#1", ["Ada#1", "Bob#1"])]
    assert f"Bob waits behind Ada {FILE}" in run("claims").out
    assert run("release", FILE, agent="Cid").out == f"no longer in line for {FILE}\n"

    assert run("release", FILE, agent="Ada").code == 0
    out, _ = waiter.communicate(timeout=PATIENCE)
    assert (waiter.returncode, json.loads(out)["result"]["holder"]) == (0, "Bob#1")
    released, granted = events(run)[-2:]
    assert (released[0], granted[0], released[1] == granted[1]) == ("file:released", "file:claimed", True)
    assert run("release", FILE, agent="Bob").code == 0
    assert in_line(run) == []


def test_a_waiter_that_is_killed_keeps_its_place_and_finds_its_file(tmp_path: Path) -> None:
    run = meet(tmp_path)
    waiter = run.popen("claim", FILE, "--wait", agent="Bob")
    assert waiter.stderr is not None
    waiter.stderr.readline()
    waiter.kill()
    waiter.communicate(timeout=PATIENCE)
    assert run("claim", FILE, "--wait", "--timeout", "0", agent="Cid").code == 5
    assert run("claim", FILE, "--wait", "--timeout", "0", agent="Bob").code == 5, "in its old place"
    assert run("release", FILE, agent="Ada").code == 0
    assert run("claim", FILE, "--wait", agent="Bob").code == 0
    assert in_line(run) == [("Bob#1", []), ("Cid#1", ["Bob#1"])]
    assert run("leave", agent="Bob").code == 0
    again = run("claim", FILE, "--wait", "--json", agent="Cid")
    assert again.result["holder"] == "Cid#1"
    assert [kind for kind, _ in events(run)].count("file:awaited") == 2


def test_the_files_of_a_silent_holder_pass_to_the_next_in_line(tmp_path: Path) -> None:
    run = meet(tmp_path)
    assert run("claim", "docs/a.md", "--ttl", "1s", agent="Ada").code == 0
    assert run("claim", "docs/a.md", "--wait", "--timeout", "1m", agent="Bob").code == 0


def test_who_leaves_the_line_while_its_command_waits_is_told(tmp_path: Path) -> None:
    run = meet(tmp_path)
    waiter = run.popen("claim", FILE, "--wait", agent="Bob")
    assert waiter.stderr is not None
    waiter.stderr.readline()
    assert run("release", "--all", agent="Bob").code == 0
    assert "[no_longer_waiting]" in waiter.communicate(timeout=PATIENCE)[1]
    assert waiter.returncode == 6
    assert run("claim", FILE, "--timeout", "1s", agent="Bob").code == 2
