"""The samples of the specification, as they are printed there: `document.yml` has each key once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_name("samples")


def text(name: str) -> str:
    return (FOLDER / f"{name}.yml").read_text("utf-8")


def sample(name: str) -> dict[str, Any]:
    return yaml.safe_load(text(name))
