"""The factories of a person stay as they are, whatever an agent adds to their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.specs.rspec.test_skips import FACTORY, HONEST, let, refused

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

MINE = """\
FactoryBot.define do
  trait :cheap do
    price { 1 }
  end

  factory :book do
    skip_create
  end
end
"""


@pytest.fixture
def books(shop: Shop) -> Shop:
    shop.stock("models/book")
    shop.write(FACTORY, MINE)
    shop.open()
    let(shop, "factory-agent", "print('status: skip\\nskip_reason: nothing to do')\n")
    return shop


@pytest.mark.proves("S2-FACT-02")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("text + 'class Shelf\\nend\\n'", ":10: `class Shelf` was added: only `FactoryBot.define` blocks may be added"),
        ("text.replace('{ 1 }', '{ 1 }\\n    stock { 9 }')", ":2: the trait cheap was changed"),
        ("'return\\n' + text", ":1: `return` was added: only `FactoryBot.define` blocks may be added"),
        ("text + 'FactoryBot.define do\\n  (\\n'", "the file does not parse"),
    ],
    ids=["a class", "a line in a trait", "a return", "a syntax error"],
)
def test_an_agent_that_changes_more_than_it_adds_fails_with_the_line(books: Shop, change: str, said: str) -> None:
    let(books, "test-implementer", f"{HONEST}text = factory.read_text()\nfactory.write_text({change})\n")
    assert f"{FACTORY}" in refused(books)
    assert said in refused(books)
    assert books.document("app_models_book")["automation"]["test_implementer_completed"] is False
