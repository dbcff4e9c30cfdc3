"""`moot completion` prints a script for bash, which asks `moot complete LINE` whenever the key is pressed.

Verbs, options and choices come from the catalogue; the names of agents, tasks and messages from the workspace. Looking
them up writes nothing and waits for nothing, and nothing is printed if it fails.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from moot.api import catalogue
from moot.core.errors import MootError, Usage
from moot.surfaces.cli import pack_verbs
from moot.surfaces.cli.parse import ALIASES, GLOBAL_FLAGS, GLOBAL_VALUES, TAUGHT, find, understand
from moot.surfaces.cli.task_ids import TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.api.catalogue import Param, Verb

SCRIPT = """\
# Completion of moot for bash: put it into ~/.local/share/bash-completion/completions/moot
_moot() {
  local IFS=$'\\n'
  COMPREPLY=($(moot complete -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
}
complete -o default -F _moot moot
"""
_MOST = 200
_BREAKS = ":=@"  # bash replaces only what follows the last of these characters
_AGENTS = ("to", "agent", "holder", "owner")
_MESSAGES = ("reply", "ack", "thread", "answer")


def script(words: Sequence[str]) -> int:
    """Print the script for bash."""
    if list(words) != ["bash"]:
        raise Usage(
            "bad_arguments",
            "`moot completion` requires the name of the shell, and bash is the only one.",
            "For example: moot completion bash > ~/.local/share/bash-completion/completions/moot",
        )
    sys.stdout.write(SCRIPT)
    return 0


def complete(words: Sequence[str]) -> int:
    """Print what can stand at the end of a line, one per line. Errors stay silent: the completed command shows them."""
    if len(words) != 2 or words[0] != "--":
        from moot.surfaces.cli.suggestions import unknown_verb

        raise unknown_verb(["complete", *words])
    *typed, last = words[1].split(" ")
    try:
        found = [word for word in _candidates([word for word in typed[1:] if word], last) if word.startswith(last)]
    except MootError:
        return 0
    kept = 1 + max(last.rfind(char) for char in _BREAKS)
    sys.stdout.write("".join(f"{word[kept:]}\n" for word in list(dict.fromkeys(found))[:_MOST]))
    return 0


def _candidates(typed: list[str], last: str) -> Iterable[str]:
    before = typed[-1] if typed else ""
    if before in GLOBAL_VALUES:
        return _names("agents", typed) if before == "--agent" else ()
    own = [word for at, word in enumerate(typed) if word not in GLOBAL_FLAGS and not _of_global(typed, at)]
    firsts = [name for name in (*catalogue.names(), *pack_verbs.all_names(), *TAUGHT, *ALIASES) if name]
    if not own or own == ["help"]:
        return dict.fromkeys(name.partition(" ")[0] for name in firsts)
    line = understand(own)
    if line.verb is None or line.verb in TAUGHT:
        return ("bash",) if line.verb == "completion" else _names("agents", typed)
    second = [name.partition(" ")[2] for name in firsts if name.startswith(f"{line.verb} ") and not line.words]
    if line.verb not in catalogue.names() and " " not in line.verb:
        return second
    verb = find(line.verb)
    options = {param.flag: param for param in verb.params if not param.positional}
    if last.startswith("-"):
        return (*options, *GLOBAL_FLAGS, *GLOBAL_VALUES)
    if before in options and options[before].type != "flag":
        return _values(verb, options[before], typed)
    param = _place(verb, options, line.words)
    return (*(_values(verb, param, typed) if param is not None else ()), *second)


def _of_global(typed: Sequence[str], at: int) -> bool:
    """Whether the word belongs to an option that every verb has."""
    return typed[at] in GLOBAL_VALUES or (at > 0 and typed[at - 1] in GLOBAL_VALUES)


def _place(verb: Verb, options: dict[str, Param], words: Sequence[str]) -> Param | None:
    """The positional argument that comes after these words."""
    with_value = {flag for flag, param in options.items() if param.type != "flag"}
    free = [at for at, word in enumerate(words) if word not in options and (at == 0 or words[at - 1] not in with_value)]
    places = [param for param in verb.params if param.positional]
    if len(free) < len(places):
        return places[len(free)]
    return places[-1] if places and places[-1].many else None


def _values(verb: Verb, param: Param, typed: Sequence[str]) -> Iterable[str]:
    if param.choices or param.suggested:
        return param.choices or param.suggested
    if param.name == "pack":
        from moot.wiring.packs import SHIPPED

        return SHIPPED
    if param.name in TASKS:
        return _names("tasks", typed)
    if param.name in _AGENTS or verb.name == "leave":
        return _names("agents", typed)
    return _names("messages", typed) if verb.name in _MESSAGES else ()


def _names(kind: str, typed: Sequence[str]) -> Iterable[str]:
    """The names in the workspace; `-C` and `--agent` of the line count."""
    from moot.core.identity import decide
    from moot.views import queries
    from moot.wiring import open_workspace

    given = dict(pairwise(typed))
    workspace = open_workspace(os.path.abspath(given.get("-C", ".")), os.environ, named="-C" in given, reading=True)
    with workspace, workspace.call(decide(os.environ, agent=given.get("--agent"), terminal=True)) as call:
        store = call.engine.read()
        if kind == "agents":
            return [*(agent.name for agent in queries.agents(store) if not agent.retired), "@all"]
        if kind == "tasks":
            return [task.id for task in queries.tasks(store, ended=False)][::-1]
        boxes = () if call.caller.nobody else call.mailboxes()
        return [delivery.entry.id for delivery in queries.inbox(store, boxes, _MOST)]
