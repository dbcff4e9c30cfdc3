"""Damage in the repository: to the document by an agent or a person, and odd things where files should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

BOOK, SPEC, METADATA = "app_models_book", "spec/models/book_spec.rb", "tmp/rspec_metadata"
PATIENCE = 60


@pytest.mark.proves("S2-HARD-05")
def test_an_agent_cannot_hide_how_it_makes_tests_pass(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shop.root.parent / "settings"))
    shop.stock("models/book")
    shop.write(".gitignore", "tmp/\n.rspec-local\n")
    shop.open("rigs")
    with pytest.raises(Refused) as failed:
        shop.cover()
    marks = shop.document("app_models_book")["automation"]
    assert marks["test_implementer_completed"] is False
    said = "\n".join(marks["errors"])
    assert ".git/info/exclude: changed while the stage ran" in said, failed.value


@pytest.mark.proves("S2-AN-17")
def test_a_remnant_of_the_older_format_in_a_document_is_reported(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open()
    shop.cover()
    path = shop.root / METADATA / f"{BOOK}.yml"
    path.write_text(path.read_text() + "test_level: unit\n")
    (report,) = shop.cover().files
    assert any("test_level: is a remnant of the older format" in warning for warning in report.warnings)
    assert "test_level: unit\n" in path.read_text(), "what moot does not know stays"


@pytest.mark.proves("S2-META-03", "S2-AN-17")
def test_a_file_that_was_there_before_is_refused_for_another_source_and_warned_of_in_the_older_format(
    shop: Shop,
) -> None:
    shop.stock("models/book")
    shop.open()
    path = f"{METADATA}/{BOOK}.yml"
    other = "source_file: app/models/customer.rb\nclass_name: Customer\n"
    shop.write(path, other)
    with pytest.raises(Refused, match=f"{path} is about app/models/customer.rb") as refused:
        shop.cover()
    assert refused.value.remedy
    assert shop.file(path) == other
    shop.write(path, "test_level: unit\ntarget:\n  class: Book\n")
    said = shop.moot("rspec", "cover", "--branch", "--yes", code=2)
    for key in ("test_level", "target"):
        assert f"{path}: {key} is a remnant of the older format" in said
