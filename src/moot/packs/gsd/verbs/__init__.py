"""The verbs of the pack: `moot gsd emit`, `events`, `wait`, `phase`, `plan` and others."""

from __future__ import annotations

_HERE = "moot.packs.gsd.verbs"
TABLE = {
    "emit": f"{_HERE}.emit:EMIT",
    "events": f"{_HERE}.events:EVENTS",
    "wait": f"{_HERE}.wait:WAIT",
    "phase": f"{_HERE}.looking:PHASE",
    "plan": f"{_HERE}.looking:PLAN",
    "claims": f"{_HERE}.looking:CLAIMS",
    "waiting": f"{_HERE}.looking:WAITING",
    "need": f"{_HERE}.need:NEED",
    "check": f"{_HERE}.looking:CHECK",
}
METHODS = "moot.packs.gsd.methods:Blackboard"
