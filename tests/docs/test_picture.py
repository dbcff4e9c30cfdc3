"""The picture of the README."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "moot.svg"


def test_the_picture_shows_a_refused_claim_and_the_screen_and_fetches_nothing() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    words = " ".join("".join(ET.fromstring(text).itertext()).replace("\xa0", " ").split())
    assert "moot --agent Bishop claim src/parser/lexer.py" in words
    assert "[file_held]" in words
    assert "Needs you: 1" in words
    assert not re.search(r"url\((?!#)|<image|href=", text)
    assert "docs/pictures/moot.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
