"""A stage starts only on what was checked: whatever happens between the check and the start, and after it passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moot.runs.record import RunRecord
from tests.specs.rspec_v1.shop import METADATA, SOURCE, SPEC, Shop


def started(shop: Shop) -> list[str]:
    return [one["data"]["stage"] for one in shop.events("run:started")]


@pytest.mark.proves("S1-PRE-02", "S1-MARK-03")
def test_a_stage_that_passed_and_then_failed_has_not_completed(shop: Shop) -> None:
    shop.agents(implementer="on_demand")
    for words in (("analyzer", SOURCE, "process"), ("architect", SPEC), ("implementer", SPEC)):
        said = shop.rspec(*words)
        assert said.code in (0, 2), said.err
    shop.write("tmp/crash", "")
    done = shop.read(SPEC)
    said = shop.run("--again")
    assert said.code == 1
    assert shop.read(SPEC) == done, "the spec is as the earlier attempt, which passed, has left it"
    assert "failed at implementer" in said.err
    assert shop.document()["automation"]["implementer_completed"] is False
    for stage in ("factory-optimizer", "polisher", "reviewer"):
        said = shop.rspec(stage, SPEC)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith(
            "Error: rspec-implementer has not completed successfully.\nRun rspec-implementer first"
        )
    (shop.root / "tmp/crash").unlink()
    said = shop.run()
    assert said.code in (0, 2), said.err
    assert "architect reused" in said.err
    assert "implementer passed" in said.err, "its last attempt did not pass, so it runs again"


def invalidate(shop: Shop) -> None:
    shop.write(METADATA, shop.read(METADATA).replace("method_type: instance", "method_type: module"))


def tear(shop: Shop) -> None:
    shop.write(METADATA, "invalid yaml [[[")


def remove_spec(shop: Shop) -> None:
    (shop.root / SPEC).unlink()


def remove_source(shop: Shop) -> None:
    (shop.root / SOURCE).unlink()


MOMENTS: dict[Callable[[Shop], None], str] = {
    invalidate: "Error: Invalid metadata format\nRe-run rspec-analyzer.\n  - target.method_type: expected instance",
    tear: "cannot be parsed",
    remove_spec: f"Error: Spec file not found: {SPEC}\nRestore it",
    remove_source: f"Error: Source file not found: {SOURCE}\nRestore it",
}


@pytest.mark.proves("S1-PRE-01", "S1-PRE-03", "S1-PRE-04")
@pytest.mark.parametrize("happens", MOMENTS)
def test_what_changes_after_the_check_and_before_the_start_is_noticed(
    staffed: Shop, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Shop], None]
) -> None:
    assert staffed.rspec("analyzer", SOURCE, "process").code in (0, 2)
    assert staffed.rspec("skeleton", SOURCE).code in (0, 2)
    spec, start, left = staffed.read(SPEC), RunRecord.start, [happens]

    def disturbed(self: RunRecord, *given: Any) -> Any:
        if left:
            left.pop()(staffed)
        return start(self, *given)

    monkeypatch.setattr(RunRecord, "start", disturbed)
    said = staffed.rspec("architect", METADATA)
    assert not left, "the moment came"
    assert (said.code, said.out) == (1, "")
    assert MOMENTS[happens] in said.err
    assert "architect" not in started(staffed)
    if happens is not remove_spec:
        assert staffed.read(SPEC) == spec


@pytest.mark.proves("S1-PRE-01", "S1-PRE-03")
def test_an_edit_of_the_document_at_the_moment_of_the_start_reaches_the_stage(
    staffed: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert staffed.rspec("analyzer", SOURCE, "process").code in (0, 2)
    start, left = RunRecord.start, ["sum"]

    def disturbed(self: RunRecord, prepared: Any, *given: Any) -> Any:
        if left and prepared.stage.name == "skeleton":
            staffed.write(METADATA, staffed.read(METADATA).replace("name: amount", f"name: {left.pop()}"))
        return start(self, prepared, *given)

    monkeypatch.setattr(RunRecord, "start", disturbed)
    said = staffed.rspec("skeleton", SOURCE)
    assert said.code in (0, 2), said.err
    assert "sum is > 10" in staffed.read(SPEC)


@pytest.mark.proves("S1-AN-13", "S1-ISS-01")
def test_the_stages_before_architect_run_in_the_same_run_and_with_the_same_seat(staffed: Shop) -> None:
    assert staffed.rspec("analyzer", SOURCE, "process").code in (0, 2)
    before = len(staffed.events("permit:"))
    assert staffed.rspec("architect", SOURCE).code in (0, 2)
    assert started(staffed) == ["analyzer", "validation", "skeleton", "architect"]
    seats = [one["type"] for one in staffed.events("permit:")][: len(staffed.events("permit:")) - before]
    assert len([one for one in seats if "asked" in one]) <= 1, seats
    assert len({one["stream"] for one in staffed.events("run:started")}) == 1


@pytest.mark.proves("S1-PRE-02")
def test_only_stages_without_an_agent_run_by_themselves(staffed: Shop) -> None:
    assert staffed.rspec("analyzer", SOURCE, "process").code in (0, 2)
    said = staffed.rspec("implementer", SOURCE)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Error: rspec-architect has not completed successfully.\nRun rspec-architect first.\n")
    assert started(staffed) == ["analyzer", "validation"], "nothing is started for a stage that cannot run"
