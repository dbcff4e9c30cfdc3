"""The cache is valid only while nothing has changed that a result depends on, whatever the times say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from moot.core.errors import Refused
from moot.packs.rspec import analyzer
from moot.packs.rspec.pipeline import RspecPipeline
from tests.specs.rspec.test_waves_of_a_class import TILL, runs_of, stages_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.rspec.shop import Shop

SOURCE, SLUG = "app/services/till.rb", "app_services_till"


def cover(shop: Shop) -> Any:
    return shop.rspec("cover", path=SOURCE, yes=True)


@pytest.fixture
def covered(shop: Shop) -> Shop:
    """A shop with one class that was covered."""
    shop.write(SOURCE, TILL)
    shop.open()
    cover(shop)
    state = shop.rspec("cache", source=SOURCE)
    assert (state.valid, state.reasons) == (True, ())
    return shop


def reason(shop: Shop) -> str:
    """Why the cache is not valid."""
    state = shop.rspec("cache", source=SOURCE)
    assert state.valid is not bool(state.reasons)
    return "; ".join(state.reasons)


def rewritten(shop: Shop) -> None:
    """Another content, with the time of the old one to the nanosecond."""
    path = shop.root / SOURCE
    before = path.stat()
    path.write_text(path.read_text().replace(":open\n", ":ajar\n"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def touched(shop: Shop) -> None:
    """The same content, a nanosecond later: the same time in seconds."""
    path = shop.root / SOURCE
    before = path.stat().st_mtime_ns
    later = before + 1 if (before + 1) // 10**9 == before // 10**9 else before - 1
    os.utime(path, ns=(later, later))


def edited(old: str, new: str) -> Callable[[Shop], None]:
    def edit(shop: Shop) -> None:
        path = shop.root / f"tmp/rspec_metadata/{SLUG}.yml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return edit


def moved(shop: Shop) -> None:
    """The base of the branch becomes another commit."""
    shop.git("branch", "-f", "main", "HEAD")


@pytest.mark.proves("S2-HARD-04")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (rewritten, f"{SOURCE} changed"),
        (touched, "the time of the source changed"),
        (edited("selected: true", "selected: false"), "was edited: /methods_to_analyze/open/selected"),
        (edited("method_mode: new", "method_mode: modified"), "was edited: /methods_to_analyze/open/method_mode"),
        (moved, "the base was"),
        (lambda shop: (shop.root / f"tmp/rspec_metadata/{SLUG}.yml").unlink(), "was deleted"),
        (edited("selected: true", "selected: [1"), "cannot be parsed"),
    ],
    ids=["content", "nanoseconds", "selection", "mode", "base", "deleted", "broken"],
)
def test_each_change_alone_makes_the_cache_invalid_and_is_named(
    covered: Shop, change: Callable[[Shop], None], said: str
) -> None:
    change(covered)
    assert said in reason(covered)


@pytest.mark.proves("S2-HARD-04")
def test_another_selection_runs_the_analysis_again(covered: Shop) -> None:
    covered.rspec("cover", path=SOURCE, only=["*#open"])
    runs = runs_of(covered, SLUG)
    assert stages_of(runs[-1])["code-analyzer"] == "passed"
    assert reason(covered) == ""


@pytest.mark.proves("S2-HARD-04")
def test_another_version_of_the_code_makes_the_cache_invalid(covered: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RspecPipeline, "version", "another")
    assert "the declaration of the stage changed" in reason(covered)
    monkeypatch.undo()
    monkeypatch.setattr(analyzer, "VERSION", "another")
    assert "the version of the analysis changed" in reason(covered)
    monkeypatch.undo()
    assert reason(covered) == ""


@pytest.mark.proves("S2-HARD-04")
@pytest.mark.parametrize("field", ["version", "sets"])
def test_another_version_of_the_pack_or_the_analyzer_makes_the_cache_invalid(
    covered: Shop, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    real = RspecPipeline.__init__

    def other(self: RspecPipeline, pack: Any, *given: Any, **more: Any) -> None:
        stages = tuple(
            one.replace(sets={"/automation/code_analyzer_version": "9.9"}) if one.name == "code-analyzer" else one
            for one in pack.stages
        )
        real(self, pack.replace(version="9.9") if field == "version" else pack.replace(stages=stages), *given, **more)

    monkeypatch.setattr(RspecPipeline, "__init__", other)
    assert "the declaration of the stage changed" in reason(covered)


@pytest.mark.proves("S2-HARD-04")
def test_a_review_with_failing_tests_leaves_no_valid_cache(covered: Shop) -> None:
    spec = covered.root / "spec/services/till_spec.rb"
    spec.write_text(spec.read_text().replace("eq(1)", "eq(2)", 1))
    with pytest.raises(Refused, match="Tests of wave 0 failed"):
        cover(covered)
    assert "the last review or a stage had errors: test_reviewer: failed" in reason(covered)
    spec.write_text(spec.read_text().replace("eq(2)", "eq(1)", 1))
    cover(covered)
    assert reason(covered) == ""
