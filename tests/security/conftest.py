"""What the tests of attacks share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from moot.core.identity import AGENTS_SHELLS


@pytest.fixture
def person() -> Iterator[None]:
    """This process acts for a person, whoever started the tests; a mistake of moot itself is seen as it is."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("MOOT_") or name in (*AGENTS_SHELLS, "XDG_RUNTIME_DIR"):
                patch.delenv(name)
        patch.setenv("MOOT_PERSON", "1")
        patch.setenv("MOOT_DEBUG", "1")
        yield
