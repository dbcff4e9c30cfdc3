"""The verbs of the pack: `moot rspec cover`, `discover` and others."""

from __future__ import annotations

_HERE = "moot.packs.rspec.verbs"
TABLE = {
    "cover": f"{_HERE}.cover:COVER",
    "select": f"{_HERE}.select:SELECT",
    "discover": f"{_HERE}.discover:DISCOVER",
    "resume": f"{_HERE}.resume:RESUME",
    "stage": f"{_HERE}.resume:STAGE",
    "stages": f"{_HERE}.stages:STAGES",
    "cache": f"{_HERE}.cache:CACHE",
}
METHODS = "moot.packs.rspec.methods:Rspec"
