"""Several processes at once, and processes that are killed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import moot
from tests.specs.rspec_v1.shop import METADATA, SOURCE, SPEC, STAGES, Shop

SOURCES = str(Path(moot.__file__).resolve().parents[1])
PATIENCE = 60.0


def start(shop: Shop, *words: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    command = [sys.executable, "-m", "moot", "rspec-v1", *words]
    return subprocess.Popen(
        command, cwd=shop.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def until_running(shop: Shop, stage: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        said = shop.rspec("status", SOURCE)
        if f"▶ {stage} running" in said.out:
            return
        time.sleep(0.05)
    raise AssertionError(f"{stage} did not start")


@pytest.mark.proves("S1-SEQ-01", "S1-HARD-12", "S1-MARK-03", "S1-KEY-01", "S1-INSP-01")
def test_a_target_has_one_stage_at_a_time_and_a_killed_one_is_interrupted_and_free(shop: Shop) -> None:
    shop.agents(architect="hang", timeout="5m")
    first = start(shop, "run", SOURCE, "process")
    try:
        until_running(shop, "architect")
        before = len(shop.events())
        said = shop.rspec("analyzer", SOURCE, "process")
        assert (said.code, said.out) == (1, "")
        assert "architect" in said.err
        assert len(shop.events()) == before, "nothing is written"
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate(timeout=PATIENCE)
    assert shop.states()["architect"] == "interrupted"
    assert shop.document()["automation"]["architect_completed"] is False
    shop.agents(implementer="none")
    said = shop.run("--resume")  # no lock has to be removed
    assert "architect passed" in said.err, said.err
    attempts = [one["data"]["stage"] for one in shop.events("run:started")]
    assert attempts == ["analyzer", "validation", "skeleton", "architect", "architect"]


@pytest.mark.proves("S1-HARD-12")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_what_was_interrupted_and_how_to_go_on(shop: Shop, number: signal.Signals) -> None:
    shop.agents(architect="hang", timeout="5m")
    first = start(shop, "run", SOURCE, "process")
    until_running(shop, "architect")
    first.send_signal(number)
    said = first.communicate(timeout=PATIENCE)[1].decode()
    assert first.returncode == 130, said
    line = f"Interrupted: architect of {SOURCE} Payment#process. To go on: `moot "
    (command,) = [one.removeprefix(line).removesuffix("`.") for one in said.splitlines() if one.startswith(line)]
    shop.agents(implementer="none")
    assert "architect passed" in shop(*shlex.split(command)).err


@pytest.mark.proves("S1-SEQ-03", "S1-SEQ-01")
def test_runs_on_other_sources_wait_in_the_order_of_their_arrival(shop: Shop) -> None:
    shop.agents(architect="nothing")
    names = ("one", "two", "three")
    for name in names:
        shop.write(f"app/{name}.rb", f"class {name.capitalize()}\n  def go(a)\n    a ? 1 : 2\n  end\nend\n")
    running = [start(shop, "run", f"app/{name}.rb", "go") for name in names]
    for one in running:
        one.communicate(timeout=PATIENCE)
    started = [event["stream"] for event in shop.events("run:started")]
    runs = list(dict.fromkeys(started))
    assert len(runs) == 3
    assert started == sorted(started, key=runs.index), "no stage of two runs overlaps"


@pytest.mark.proves("S1-ISS-01", "S1-ISS-02")
def test_analyzer_and_architect_at_the_same_moment_never_overlap(shop: Shop) -> None:
    shop.agents(implementer="none")
    both = [start(shop, "analyzer", SOURCE, "process"), start(shop, "architect", SPEC)]
    results = [one.communicate(timeout=PATIENCE)[1].decode() for one in both]
    assert both[1].returncode == 1 or "architect passed" in results[1], results
    order = [(one["type"], one["data"]["stage"]) for one in shop.events("run:") if "stage" in one["data"]]
    for number, (kind, stage) in enumerate(order):
        if kind == "run:started":
            assert order[number + 1][1] == stage, order
    assert shop.document()["automation"]["analyzer_completed"] is True
    assert not [name for name in os.listdir(shop.root / Path(METADATA).parent) if name.endswith(".tmp")]
    assert STAGES[0] == order[0][1]
