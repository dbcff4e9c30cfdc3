"""The trials of stages pass for stages that keep the rules, and name the rule that one breaks."""

from __future__ import annotations

import secrets

import pytest

from moot.core.kind import load
from moot.pipelines import contents, step_keys
from moot.pipelines.contract import StageOutput
from moot.testing.rehearsal import Rehearsal
from moot.testing.stages import TRIALS, StageTrial, stage

A_TRIAL = {"pack": "notes", "paths": ("a.txt",), "kills": 3}
FEWER_WORDS = StageTrial(stage="polish", lie=lambda given: StageOutput(files={given.path("report"): b""}), **A_TRIAL)
DRAFT = StageTrial(stage="draft_report", **A_TRIAL)


@pytest.fixture
def rehearsal(notes):
    made = Rehearsal(str(notes.root), (), patience=60)
    yield made
    made.close()


@pytest.mark.parametrize("name", TRIALS)
@pytest.mark.parametrize("trial", [DRAFT, FEWER_WORDS], ids=lambda trial: trial.stage)
def test_stages_that_keep_the_rules_pass_every_trial(rehearsal, trial, name):
    stage(rehearsal, trial, name)


@pytest.mark.parametrize("name", ["repeated", "foreign", "killed", "perturbed"])
@pytest.mark.parametrize("of", ["outline", "check"])
def test_so_do_the_first_and_the_last_stage(rehearsal, of, name):
    stage(rehearsal, StageTrial(stage=of, **A_TRIAL), name)


def chance(given):
    return StageOutput(files={given.path("report"): given.file("report") + secrets.token_hex(8).encode()})


@pytest.mark.parametrize("name", ["repeated", "killed"])
def test_a_result_that_depends_on_chance_is_named(rehearsal, monkeypatch, name):
    monkeypatch.setitem(load("notespack.protocol:NotesPipeline").stages, "polish", chance)
    with pytest.raises(AssertionError, match=r"another result: file:reports/a\.md"):
        stage(rehearsal, FEWER_WORDS, name)


def test_a_stage_that_nobody_checks_is_named(rehearsal):
    with pytest.raises(AssertionError, match="polish passed, but had not done its work: it needs a criterion"):
        stage(rehearsal, StageTrial(stage="polish", **A_TRIAL), "lying")


def test_a_stage_that_always_runs_again_is_named(rehearsal, monkeypatch):
    monkeypatch.setattr(load("notespack.protocol:NotesPipeline"), "stale", lambda *_: "it is Monday")
    with pytest.raises(AssertionError, match="although nothing has changed"):
        stage(rehearsal, FEWER_WORDS, "perturbed")


def test_an_input_that_is_not_in_the_step_key_is_named(rehearsal, monkeypatch):
    known = step_keys.changed
    monkeypatch.setattr(step_keys, "changed", lambda *tables: [n for n in known(*tables) if "outline" not in n])
    with pytest.raises(AssertionError, match="would not run again after a change of document:/outline"):
        stage(rehearsal, DRAFT, "perturbed")


def test_a_file_that_anybody_can_write_is_named(rehearsal, monkeypatch):
    monkeypatch.setattr(contents, "is_of", lambda *_: True)
    with pytest.raises(AssertionError, match="a file that belongs to nobody was written"):
        stage(rehearsal, StageTrial(stage="check", **A_TRIAL), "foreign")
