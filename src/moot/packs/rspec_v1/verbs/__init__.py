"""The verbs of the pack: `moot rspec-v1 run`, one for each stage, and queries."""

from __future__ import annotations

_HERE = "moot.packs.rspec_v1.verbs"
TABLE = {
    "run": f"{_HERE}.running:RUN",
    "analyzer": f"{_HERE}.running:ANALYZER",
    "validation": f"{_HERE}.running:VALIDATION",
    "skeleton": f"{_HERE}.running:SKELETON",
    "architect": f"{_HERE}.running:ARCHITECT",
    "implementer": f"{_HERE}.running:IMPLEMENTER",
    "factory-optimizer": f"{_HERE}.running:FACTORY_OPTIMIZER",
    "polisher": f"{_HERE}.running:POLISHER",
    "reviewer": f"{_HERE}.running:REVIEWER",
    "status": f"{_HERE}.status:STATUS",
    "errors": f"{_HERE}.status:ERRORS",
    "characteristics": f"{_HERE}.status:CHARACTERISTICS",
    "report": f"{_HERE}.status:REPORT",
    "versions": f"{_HERE}.versions:VERSIONS",
    "path": f"{_HERE}.queries:PATH",
    "dir": f"{_HERE}.queries:DIR",
    "validate": f"{_HERE}.queries:VALIDATE",
    "cache": f"{_HERE}.queries:CACHE",
    "stages": f"{_HERE}.queries:STAGES",
    "rules": f"{_HERE}.queries:RULES",
    "contract": f"{_HERE}.queries:CONTRACT",
}
METHODS = "moot.packs.rspec_v1.methods:RspecV1Methods"
