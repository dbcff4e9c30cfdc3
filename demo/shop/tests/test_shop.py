from __future__ import annotations

import unittest

from lib.routes import ROUTES  # type: ignore[import-not-found]


class Shop(unittest.TestCase):
    def test_it_has_a_home(self) -> None:
        assert "/" in ROUTES
