"""The commands of agents in `moot.toml`, which `moot run PACK` starts.

    [run.NAME]                          NAME is a pack
    lead = ["claude", "-p", "--permission-mode", "acceptEdits"]   a program and its arguments, for a stage of the pack
    developer = { command = ["codex", "exec", "--sandbox", "workspace-write", "-"], timeout = "2h", attempts = 2 }

    timeout                             of one attempt; the program and its children are then ended
    attempts                            how often the command is run until it has done its part
    env                                 additional variables from the environment

Loaded only when the file has such commands and has changed. The stages are the pack's; it checks their names.
"""

from __future__ import annotations

import re  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.text import closest
from moot.place.settings.handlers import FIELDS
from moot.place.settings.parse import Unexpected, duration, spelled, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.place.settings.parse import Reader, Reading

ATTEMPTS = 2
TIMEOUT = 3600.0
_STAGE = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_MOST = 100
_READERS: Mapping[str, Reader] = {
    "command": FIELDS["run"],
    "timeout": duration(1.0, 7 * 86400.0),
    "attempts": whole(1, 20),
    "env": FIELDS["env"],
}


def read(value: Any, reading: Reading) -> dict[str, dict[str, dict[str, Any]]]:
    """The commands by pack and stage, as fields of `moot.core.handler.Handler`."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for pack, stages in value.items():
        place = ("run", pack)
        if not isinstance(stages, dict):
            reading.wrong(place, stages, f"a table, written as [run.{pack}]")
            continue
        if len(stages) > _MOST:
            reading.add(place, f"there are {len(stages)} commands; at most {_MOST} are allowed")
            continue
        found[pack] = {stage: _command((*place, stage), given, reading) for stage, given in stages.items()}
    return found


def _command(here: tuple[str, ...], given: Any, reading: Reading) -> dict[str, Any]:
    fields: dict[str, Any] = {"attempts": ATTEMPTS, "timeout": TIMEOUT}
    if not _STAGE.fullmatch(here[-1]):
        reading.add(here, f"{spelled(here)}: a stage is a name of lowercase letters, digits, `-` and `_`")
    table = given if isinstance(given, dict) else {"command": given}
    for key, item in table.items():
        place = (*here, key) if isinstance(given, dict) else here
        if key not in _READERS:
            near = closest(key, _READERS)
            advice = f"did you mean {near}?" if near else f"valid keys: {', '.join(_READERS)}"
            reading.add(place, f"unknown key {spelled(place)}; {advice}")
            continue
        try:
            fields["run" if key == "command" else key] = _READERS[key](item)
        except Unexpected as unexpected:
            reading.wrong(place, item, str(unexpected))
    if "command" not in table:
        reading.add(here, f"{spelled(here)} has no command")
    return fields
