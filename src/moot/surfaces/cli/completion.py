"""`moot completion SHELL` prints a shell script built from the catalogue. The script calls `moot complete KIND`.

The script contains the verbs, options and choices. Only names (of agents, tasks, messages) are looked up when a key is
pressed. That call writes nothing, waits for nothing, and prints nothing if it fails.
"""

from __future__ import annotations

import os
import sys
from itertools import islice

from moot.api import catalogue
from moot.core.errors import MootError, Usage
from moot.core.kind import event_types, kinds
from moot.core.record import Record
from moot.surfaces.cli import pack_verbs
from moot.surfaces.cli.argument_names import named_by
from moot.surfaces.cli.contents import aliases_of
from moot.surfaces.cli.parse import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.api.call import Call
    from moot.api.catalogue import Param
    from moot.surfaces.cli.parse import CommandLine

SHELLS = ("bash", "zsh", "fish")
KINDS = (
    "agents",
    "artifacts",
    "checkpoints",
    "decisions",
    "effects",
    "entries",
    "handlers",
    "lifecycles",
    "mailboxes",
    "messages",
    "moves",
    "needs",
    "receipts",
    "recipients",
    "roles",
    "tasks",
    "things",
    "types",
)
FLAGS = {
    "--json": "the answer as one JSON object",
    "--person": "act as a person",
    "--help": "show usage",
    "--version": "show the version",
}
VALUES = {
    "-C": ("run as if called from this directory", "files"),
    "--agent": ("act as this agent", "agents"),
    "--at": ("answer as of a moment in the past", ""),
}
_MOST = 200
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@#/")
_HERE = os.path.dirname(__file__)


class Slot(Record):
    """Something to complete: an option or a positional argument."""

    flag: str = ""
    help: str = ""
    kind: str = ""  # one of KINDS, `files`, `words` (see `words`), or empty
    words: tuple[str, ...] = ()
    value: bool = True
    many: bool = False


class ArgumentForm(Record):
    """A verb as a shell sees it."""

    name: str
    summary: str
    options: tuple[Slot, ...] = ()
    places: tuple[Slot, ...] = ()


def forms() -> list[ArgumentForm]:
    """All verbs of the command line: the catalogue's, their aliases, and its own."""
    found = [_form(name) for name in catalogue.names()]
    found += [_form(name, alias) for name in catalogue.names() for alias in aliases_of(name)]
    found += [_form(name) for name in pack_verbs.all_names()]
    verbs = Slot(kind="words", words=tuple(dict.fromkeys(form.name.partition(" ")[0] for form in found)))
    shells = Slot(kind="words", words=SHELLS)
    own = (
        ArgumentForm("as", "Join as an agent, run a command, leave.", places=(Slot(kind="agents"),)),
        ArgumentForm("help", "Show what a verb does, with an example.", places=(verbs,)),
        ArgumentForm("completion", "Print a completion script for a shell.", places=(shells,)),
    )
    return [*found, *own]


def _form(name: str, alias: str = "") -> ArgumentForm:
    verb = find(name)
    options = tuple(_slot(name, p) for p in verb.params if not p.positional)
    summary = f"Alias of {name}. {verb.summary}" if alias else verb.summary
    places = tuple(_slot(name, p) for p in verb.params if p.positional)
    return ArgumentForm(alias or name, summary, options, places)


def _slot(verb: str, param: Param) -> Slot:
    flag = "" if param.positional else param.flag
    kind, words = named_by(verb, param.name), param.choices or param.suggested
    if kind == "events" and not words:
        words = tuple(sorted(event_types()))
    elif kind == "packs":
        from moot.wiring.packs import SHIPPED

        words = tuple(SHIPPED)
    if param.type == "json":
        kind = "files"
    return Slot(
        flag=flag,
        help=param.help.rstrip("."),
        kind="words" if words else kind,
        words=words,
        value=param.type != "flag",
        many=param.many,
    )


def completion(words: Sequence[str]) -> int:
    """Print the script for a shell."""
    if len(words) != 1 or words[0] not in SHELLS:
        raise Usage(
            "bad_arguments",
            f"`moot completion` requires the name of a shell: {', '.join(SHELLS)}.",
            "For example: moot completion bash > ~/.local/share/bash-completion/completions/moot",
        )
    from moot.surfaces.cli import shells

    sys.stdout.write({"bash": shells.bash, "zsh": shells.zsh, "fish": shells.fish}[words[0]](forms()))
    return 0


def complete(line: CommandLine) -> int:
    """Print the names of one kind, one per line. Errors stay silent here: the completed command reports them."""
    from moot.surfaces.cli import parse
    from moot.wiring import open_workspace

    kind = line.words[0] if line.words else ""
    if kind not in KINDS and kind not in {known.plural for known in kinds() if known.plural}:
        # Not called by a script: `moot complete task-001` would look like a success.
        from moot.surfaces.cli.suggestions import unknown_verb

        raise unknown_verb(["complete", *line.words])
    try:
        named = line.directory is not None
        workspace = open_workspace(parse.directory(line), os.environ, named=named)
        names = _names(workspace.call(parse.caller(line)), kind)
        seen = [name for name in dict.fromkeys(names) if name and _SAFE.issuperset(name)]
    except MootError:
        return 0
    sys.stdout.write("".join(f"{name}\n" for name in seen[:_MOST]))
    return 0


def _names(call: Call, kind: str) -> Iterable[str]:
    from moot.views import queries

    store = call.engine.read()
    match kind:
        case "agents":
            return [a.name for a in queries.agents(store) if not a.retired]
        case "recipients":
            return [*_names(call, "agents"), *(f"@{r}" for r in call.packs.shared_roles), "@all"]
        case "mailboxes":
            return [*(f"@{r}" for r in call.packs.shared_roles), *_names(call, "agents")]
        case "tasks":
            return [task.id for task in queries.tasks(store, ended=False)][::-1]
        case "messages":
            boxes = () if call.caller.nobody else call.mailboxes()
            mine = [delivery.entry.id for delivery in queries.inbox(store, boxes, _MOST)]
            return [*mine, *(delivery.entry.id for delivery in queries.waiting(store))]
        case "entries":
            return [entry.id for entry in queries.held_entries(store)]
        case "effects":
            from moot.views import effects

            return [effect.id for effect in islice(effects.effects(store, None, None), _MOST)]
        case "handlers":
            from moot.api.verbs.effects.allow import commands_of, handlers_of, programs_of

            return [handler.name for handler in (*handlers_of(call), *commands_of(call), *programs_of(call))]
        case "needs":
            from moot import needs_me

            return [item.id for item in needs_me.waiting(call)]
        case "things":
            parts = dict.fromkeys(("tasks", "agents", "messages", *(known.plural for known in kinds() if known.plural)))
            return [name for part in parts for name in _names(call, part)]
        case _:
            known = next((known for known in kinds() if known.plural == kind), None)
            if known is None:
                return _words(call, kind)
            return [thing.id for thing in queries.things(store, known.name, _MOST, ended=kind in ("receipts", "runs"))]


def _words(call: Call, kind: str) -> Iterable[str]:
    """Words that packs define."""
    packs, lives = call.packs.packs, call.engine.lifecycles
    match kind:
        case "lifecycles":
            return list(lives)
        case "moves":
            return [word for life in lives.values() for word in (*life.names, *(edge.verb for edge in life.edges))]
        case "roles":
            return [role.name for pack in packs for role in pack.roles]
        case "types":
            return ["note", "request", *(spec.name for pack in packs for spec in pack.messages)]
        case _:
            return []
