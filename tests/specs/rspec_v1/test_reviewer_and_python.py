"""The reviewer writes only its report; the source must not change under the analyzer; the verbs as Python methods."""

from __future__ import annotations

import shutil

import pytest

from moot import MootError, Workspace
from moot.packs.rspec_v1.analyzing import run_analysis
from moot.packs.rspec_v1.methods import RspecV1Methods
from moot.runs.contract import StageError, StageInput, Target
from moot.runs.stage import Stage
from tests.specs.rspec_v1.shop import METADATA, REPORT, SOURCE, SPEC, Shop


@pytest.mark.proves("S1-REV-01")
@pytest.mark.skipif(shutil.which("rspec") is None, reason="rspec is not installed")
def test_a_reviewer_that_changes_the_spec_fails_and_the_built_in_one_changes_nothing(shop: Shop) -> None:
    shop.agents()
    shop.run()
    before = shop.read(METADATA).partition("\n")[2], shop.read(SPEC)
    assert shop.rspec("reviewer", SPEC).code in (0, 2)
    assert (shop.read(METADATA).partition("\n")[2], shop.read(SPEC)) == before
    shop.agents(reviewer="empty")
    said = shop.rspec("reviewer", SPEC)
    assert (said.code, said.out) == (1, "")
    assert f"{SPEC}: changed while the stage ran" in said.err
    assert shop.states()["reviewer"] == "failed"


@pytest.mark.proves("S1-REV-02")
def test_a_report_of_an_agent_that_misses_a_rule_does_not_complete_the_stage(shop: Shop) -> None:
    if shutil.which("rspec") is None:
        pytest.skip("rspec is not installed")
    shop.agents(reviewer="good")  # it writes no report at all
    said = shop.run()
    assert said.code == 1
    assert "there is no report" in said.err
    assert not (shop.root / REPORT).exists()


def analysis_input(shop: Shop, later: int) -> StageInput:
    """The input of an analyzer that has read the source so many nanoseconds before its last change."""
    data, mtime = (shop.root / SOURCE).read_bytes(), (shop.root / SOURCE).stat().st_mtime_ns
    return StageInput(
        stage=Stage(name="analyzer"),
        target=Target(id="t", root=str(shop.root), paths={"source": (SOURCE,), "factories": ("spec/factories/",)}),
        files={"source": {SOURCE: data}},
        parameters={"method": "process"},
        mtimes={SOURCE: mtime - later},
        now="2026-01-02T03:04:05.678Z",
    )


@pytest.mark.proves("S1-ISS-03")
def test_a_source_that_changes_while_it_is_analysed_fails_the_stage(shop: Shop) -> None:
    with pytest.raises(StageError, match="changed while it was analysed") as failed:
        run_analysis(analysis_input(shop, later=1), None)
    assert failed.value.suggestion == "Run it again."
    found = run_analysis(analysis_input(shop, later=0), None)
    assert found.document["/analyzer/source_file_mtime"] == int((shop.root / SOURCE).stat().st_mtime)
    assert found.document["/analyzer/timestamp"] == "2026-01-02T03:04:05Z"


@pytest.mark.proves("S1-ENG-01")
def test_the_verbs_are_python_methods(shop: Shop) -> None:
    shop.agents(architect="none")
    with Workspace(str(shop.root)) as workspace:
        rspec = workspace.pack(RspecV1Methods)
        source = str(shop.root / SOURCE)
        assert rspec.metadata_path_for(source) == str(shop.root / METADATA)
        assert rspec.metadata_valid(source) is False
        outcome = rspec.analyzer(source, "process")
        assert outcome.metadata == str(shop.root / METADATA)
        assert outcome.stages == {"analyzer": "passed", "validation": "passed"}
        assert rspec.metadata_valid(source) is True
        assert rspec.cache(source).reason is None
        assert [one["name"] for one in rspec.stages()][-1] == "reviewer"
        assert len(rspec.rules()) == 28
        assert rspec.characteristics(source)[0].children[0].name == "amount"
        assert rspec.status(source).stages[0].state == "completed"
        with pytest.raises(MootError, match="needs a command"):
            rspec.run(source, "process")
        assert [one.stage for one in rspec.errors(source) if one.kind == "error"] == ["architect"]
