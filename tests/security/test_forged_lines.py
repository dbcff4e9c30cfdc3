"""A text of others in an error cannot imitate a line of moot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.core.errors import Refused
from moot.surfaces.cli import voices

if TYPE_CHECKING:
    import pytest


def test_further_lines_of_an_error_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    error = Refused("some_code", "There is no file a\nmoot: forged\n    deep", "Look at a\nmoot: forged")
    voices.complain(error, as_json=False)
    assert capsys.readouterr().err.splitlines() == [
        "moot: There is no file a",
        "  moot: forged",
        "    deep",
        "  → Look at a",
        "  moot: forged [some_code]",
    ]
