"""Agents that lie: nothing is believed that the engine has not checked on the real files."""

from __future__ import annotations

import json

import pytest

from tests.specs.rspec_v1.shop import METADATA, PAYMENT, SOURCE, SPEC, Shop

LIES = [
    # stage, mode, what the error says
    ("architect", "nothing", "{CONTEXT_WORD} is left"),
    ("architect", "marker", "{CONTEXT_WORD} is left"),
    ("architect", "delete", "the context tree has changed: 3 leaf contexts before, 2 now"),
    ("architect", "no_answer", "the output has no YAML block with an answer"),
    ("architect", "bad_answer", "status: expected success, error, got 'maybe'"),
    ("architect", "quoted", "Cannot determine method signature"),
    ("architect", "crash", "exit code 3"),
    ("architect", "source", "app/services/payment.rb: changed while the stage ran"),
    ("architect", "factories", "spec/factories/stray.rb: changed while the stage ran"),
    ("architect", "foreign_key", "/test_level: belongs to analyzer"),
    ("implementer", "nothing", "has no expectation"),
    ("implementer", "delete", "is gone"),
    ("implementer", "empty", "has no expectation"),
    ("polisher", "fail", "pays a large amount: expected: :huge"),
    ("polisher", "empty", "it passed, and executed no expectation"),
    ("polisher", "reword", "is gone"),
    ("polisher", "hide", "it tests nothing: it passes when `#process` returns any other object"),
]


@pytest.mark.proves(
    "S1-HARD-01",
    "S1-HARD-17",
    "S1-LIFE-01",
    "S1-ENG-03",
    "S1-MARK-03",
    "S1-FAIL-01",
    "S1-ARCH-02",
    "S1-ARCH-05",
    "S1-IMPL-02",
    "S1-ERR-02",
)
@pytest.mark.parametrize(("stage", "mode", "text"), LIES)
def test_a_lie_fails_the_stage_and_its_marker_stays_false(shop: Shop, stage: str, mode: str, text: str) -> None:
    shop.agents(**{stage: mode})
    said = shop.run()
    assert (said.code, said.out) == (1, ""), said
    assert text in said.err, said.err
    assert shop.states()[stage] == "failed"
    automation = shop.document()["automation"]
    assert automation[f"{stage}_completed"] is False
    assert any(one.startswith(f"{stage}: ") for one in automation["errors"])
    assert automation["polisher_completed"] is False
    if mode == "foreign_key":
        assert shop.document()["test_level"] == "unit", "rendered back from the log"
        assert any("request" in str(one["data"]) for one in shop.events("document:refused"))
    if mode == "source":
        assert shop.read(SOURCE) != PAYMENT, "nothing is reverted"


@pytest.mark.proves("S1-HARD-01", "S1-HARD-13")
@pytest.mark.parametrize("mode", ["stub_unseen", "hide"])
def test_tests_that_test_nothing_do_not_pass_the_polisher(shop: Shop, mode: str) -> None:
    shop.agents(implementer=mode)
    said = shop.run()
    assert said.code == 1
    assert f"Error: tests pass that test nothing: {SPEC}:" in said.err
    assert shop.states()["implementer"] == "completed"
    assert shop.document()["automation"]["polisher_completed"] is False


@pytest.mark.proves("S1-HARD-11")
def test_a_command_that_hangs_is_ended_at_its_time_limit(shop: Shop) -> None:
    shop.agents(timeout="1s", architect="hang")
    said = shop.run()
    assert said.code == 1
    assert "Error: timed out after 1 s" in said.err
    assert "architect: timed out after 1 s" in shop.document()["automation"]["errors"]


@pytest.mark.proves("S1-ENG-03", "S1-LIFE-02", "S1-ARCH-01")
def test_an_agent_gets_its_prompt_with_target_paths_keys_and_the_form_of_its_answer(shop: Shop) -> None:
    kept = shop.root.parent / "prompt.txt"
    shop.agents(architect=f"keep={kept}", implementer="none")
    shop.run()
    prompt = kept.read_text()
    for text in (
        "# Stage rspec-architect: app/services/payment.rb Payment#process",
        f"- spec (write): {SPEC}",
        f"- source (read): {SOURCE}",
        f"- metadata document (read): {METADATA}",
        "/automation/architect_completed",
        "status: success",
        '"characteristics"',
    ):
        assert text in prompt, text
    assert "factories_detected" not in prompt, "it is not handed what its row does not have"


@pytest.mark.proves("S1-META-09", "S1-META-08")
def test_keys_that_moot_does_not_know_survive_every_rendering(shop: Shop) -> None:
    shop.agents(architect="unknown_key", implementer="none")
    said = shop.run()
    assert "architect passed" in said.err, said.err
    assert shop.document()["note"] == "kept"
    changed = [one for one in shop.events("document:") if "/note" in str(one["data"])]
    assert changed
    assert changed[-1]["data"].get("author", "") in ("architect", "")


@pytest.mark.proves("S1-ENG-02")
def test_without_a_command_the_run_stops_before_the_stage_and_keeps_the_rest(shop: Shop) -> None:
    shop.agents(architect="none")
    said = shop.run()
    assert said.code == 1
    assert "Error: The stage rspec-architect needs a command: moot.toml does not set run.rspec-v1.architect" in said.err
    assert (shop.root / SPEC).exists()
    assert shop.document()["automation"]["skeleton_generated"] is True


def test_each_problem_of_a_failed_stage_is_on_a_line_of_its_own(shop: Shop) -> None:
    shop.agents(architect="nothing")
    said = shop.run("--json")
    assert said.code == 1
    error = json.loads(said.out)
    problems = error["details"]["problems"]
    assert error["error"] == "stage_failed"
    assert len(problems) > 1
    lines = said.err.splitlines()
    at = lines.index(f"Error: architect left {len(problems)} problems")
    assert lines[at + 2 :] == [f"  - {one}" for one in problems]
    shown = shop("run", "status").out.splitlines()
    assert [line.strip() for line in shown if "{" in line] == [f"- {one}" for one in problems if "{" in one]
