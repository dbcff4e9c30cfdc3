"""Names of files that somebody else chose: they forge no line, run no command, and stop no report."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

FORGED = "Error: forged"


def named(shop: Shop, name: str) -> str:
    """A class of the bookshop in a file with this name."""
    shop.stock("models/customer")
    path = f"app/models/{name}.rb"
    (shop.root / "app/models/customer.rb").rename(shop.root / path)
    return path


def test_the_command_to_run_rspec_by_hand_keeps_a_name_one_word(shop: Shop) -> None:
    path = named(shop, "a$(touch pwn)")
    shop.write(".rspec", "--no-such-option\n")
    shop.open()
    text = shop.moot("rspec", "cover", path, "--yes", code=1)
    command = text.partition("Run it by hand to see why: `")[2].partition("`")[0]
    assert shlex.split(command, comments=False)[-1] == "spec/models/a$(touch pwn)_spec.rb"
    assert "'spec/models/a$(touch pwn)_spec.rb'" in command


@pytest.mark.parametrize("behaviour", ["drops", "honest"])
def test_a_line_break_in_a_name_begins_no_line(shop: Shop, behaviour: str) -> None:
    path = named(shop, f"x\n{FORGED}\n  - forged")
    shop.open(behaviour)
    text = shop.moot("rspec", "cover", path, "--yes", code=1)
    text += shop.moot("run", "status")
    assert "forged" in text
    assert not [line for line in text.splitlines() if line.strip().startswith(("Error: forged", "- forged"))], text
