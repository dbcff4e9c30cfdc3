"""An agent that answers `status: skip` is held to it: it changed nothing, and nothing was left to do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

SPEC, FACTORY = "spec/models/book_spec.rb", "spec/factories/books.rb"
OLD = "FactoryBot.define do\n  factory :book do\n    skip_create\n\n    trait :old do\n    end\n  end\nend\n"
SKIP = "print('status: skip\\nskip_reason: nothing to do')\n"
READ = f"from pathlib import Path\nspec, factory = Path('{SPEC}'), Path('{FACTORY}')\n"
HONEST = "import runpy, sys; sys.argv = ['agent.py', 'honest']; runpy.run_path('agent.py')\n"


def let(shop: Shop, stage: str, body: str) -> None:
    """Give a stage another agent."""
    script = shop.root.parent / f"{stage}.py"
    script.write_text(READ + body)
    path = shop.root / "moot.toml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith(f"{stage} = ")]
    at = kept.index("[run.rspec]") + 1
    path.write_text("\n".join([*kept[:at], f"{stage} = {[sys.executable, str(script)]!r}", *kept[at:]]) + "\n")
    shop.allow()


def refused(shop: Shop, resume: bool = False) -> str:
    """What is said of the stage that fails."""
    with pytest.raises(Refused) as failed:
        shop.rspec("resume") if resume else shop.cover()
    return str(failed.value)


@pytest.fixture
def books(shop: Shop) -> Shop:
    shop.stock("models/book")
    shop.write(FACTORY, OLD)
    shop.open()
    return shop


@pytest.mark.proves("S2-SKIP-02")
def test_an_agent_may_skip_if_there_is_nothing_to_do(books: Shop) -> None:
    let(books, "factory-agent", SKIP)
    [report] = books.cover().files
    assert report.skipped == {"factory-agent": "nothing to do"}
    assert report.tests_passed is True


@pytest.mark.proves("S2-HARD-05")
@pytest.mark.parametrize("change", ["    trait :old do\n    end\n", "skip_create"])
def test_a_factory_cannot_be_changed_by_an_agent_that_skips(books: Shop, change: str) -> None:
    let(books, "factory-agent", f"factory.write_text(factory.read_text().replace({change!r}, ''))\n{SKIP}")
    assert f"{FACTORY}: skipped, but changed" in refused(books)
    let(books, "factory-agent", SKIP)
    assert f"{FACTORY}: skipped, but changed" in refused(books, resume=True)
    assert books.document("app_models_book")["automation"]["factory_agent_completed"] is False
    books.write(FACTORY, OLD)
    [report] = books.rspec("resume").files
    assert report.tests_passed is True


@pytest.mark.proves("S2-HARD-05", "S2-ART-02")
def test_tests_cannot_be_emptied_by_an_agent_that_skips(books: Shop) -> None:
    drop = "spec.write_text(''.join(one for one in spec.open() if 'expect(' not in one))\n"
    let(books, "test-implementer", HONEST + drop + SKIP)
    assert f"{SPEC}: skipped, but changed" in refused(books)
    assert books.document("app_models_book")["automation"]["test_implementer_completed"] is False


@pytest.mark.proves("S2-HARD-05")
def test_placeholders_cannot_be_left_by_an_agent_that_skips(books: Shop) -> None:
    let(books, "test-implementer", SKIP)
    refused(books)
    marks = books.document("app_models_book")["automation"]
    assert marks["test_implementer_completed"] is False
    assert any("#sell: {EXPECTATION} is left" in one for one in marks["errors"])


@pytest.mark.proves("S2-ISO-07")
def test_isolation_cannot_be_left_undecided_by_an_agent_that_skips(books: Shop) -> None:
    let(books, "isolation-decider", SKIP)
    assert "sell has no test_config" in refused(books)


def test_selected_methods_cannot_be_left_out_by_an_analyzer_that_skips(books: Shop) -> None:
    let(books, "code-analyzer", SKIP)
    assert "sell is selected, and was not analysed" in refused(books)


@pytest.mark.proves("S2-REV-01")
def test_tests_cannot_be_left_unrun_by_a_reviewer_that_skips(books: Shop) -> None:
    let(books, "test-reviewer", SKIP)
    assert "skipped, and the spec file has tests that must run" in refused(books)


@pytest.mark.proves("S2-SKIP-02")
def test_an_architect_cannot_leave_placeholders_by_skipping(books: Shop) -> None:
    let(books, "test-architect", SKIP)
    with pytest.raises(Refused, match="BEHAVIOR_DESCRIPTION} is left"):
        books.cover()
