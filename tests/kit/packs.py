"""Helpers for the tests of packs: the pack in a folder and its defects, every move, every verb, and file agents."""

from __future__ import annotations

import inspect
import json
import keyword
import os
from typing import TYPE_CHECKING, Any

from moot.api import catalogue
from moot.api.protocol import PARTS, Pack, Protocol
from moot.api.protocol.checking import parse
from moot.api.protocol.loading import pack_of
from moot.api.protocol.pack_methods import PackMethods
from moot.api.protocol.pack_verbs import load as load_verb
from moot.core.deciders.task import decide
from moot.core.errors import MootError, Usage
from moot.core.principal import Actor
from moot.core.record import Record
from moot.core.task import MoveTask, Task
from moot.mirrors.forms import forms

if TYPE_CHECKING:
    from moot.api.catalogue import Verb
    from moot.api.protocol import MirrorSpec
    from moot.core.lifecycle import Edge, Lifecycle

SURFACES = ("python", "cli", "file")
GLOBAL = {"json", "help", "version", "agent", "person", "quiet", "at"}  # options of every verb


def load(folder: str | os.PathLike[str], code: type[Protocol] | None = None) -> Pack:
    """The pack in a folder. Raises `Usage` with all its defects. `code` is its `Protocol`, if there is one."""

    def read(name: str) -> bytes:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    parts = tuple(part for part in PARTS if code and getattr(code, part) is not getattr(Protocol, part))
    found = parse(os.path.basename(folder), read, forms=forms(code), coded="hear" in parts)
    return pack_of(found.data, found.schemas).replace(digest=found.digest, parts=parts)


def defects(folder: str | os.PathLike[str], code: type[Protocol] | None = None) -> str:
    """All defects of a pack, one per line: file, line, key, text. Empty if there are none."""
    try:
        load(folder, code)
    except Usage as error:
        return "".join(f"{p['file']}:{p['line']}: {p['key'] or '-'}: {p['text']}\n" for p in error.details["problems"])
    return ""


# --- lifecycles ------------------------------------------------------------------------------------------------------


class Pair(Record):
    """A state and a verb, with their edge, if there is one."""

    lifecycle: Lifecycle
    state: str
    verb: str
    edge: Edge | None

    def tried(self) -> str:
        """The next state, or the code of the refusal if no actor can make the move."""
        life, said = self.lifecycle.replace(attempts=1000), "nobody"  # the number of attempts does not matter here
        phase = life.phase(self.state)
        roles = tuple(dict.fromkeys(who for edge in life.edges for who in edge.who))
        actors = [Actor(f"{role.title()}#1", roles=(role,)) for role in roles]
        actors += [Actor("Holder#1", roles=roles), Actor("Maker#1"), Actor("person:somebody")]
        for review, actor in ((review, actor) for review in (True, False) for actor in actors):
            task = Task(
                id="task-1",
                title="A task",
                state=self.state,
                phase=phase,
                lifecycle=life.name,
                creator="Maker#1",
                review=review,
                holder="Holder#1" if phase == "working" else None,
                author="Holder#1" if phase != "open" else None,
                report="m-1",
            )
            owner = "Owner#1" if self.edge is not None and self.edge.holds == "owner" else None
            command = MoveTask(verb=self.verb, actor=actor, reason="because", report="m-1", receipt="r-1", owner=owner)
            try:
                (moved, *_) = decide(task, command, life)
            except MootError as error:
                said = error.code
            else:
                return str(moved.__dict__["target"])
        return said


def wrong_moves(lifecycle: Lifecycle) -> list[str]:
    """Every state with every verb that does not do what the edges say."""
    pairs = [
        Pair(lifecycle=lifecycle, state=state, verb=verb, edge=lifecycle.edge(verb, state))
        for state in lifecycle.names
        for verb in dict.fromkeys(edge.verb for edge in lifecycle.edges)
    ]
    return [
        f"{pair.verb} from {pair.state}: {found}"
        for pair in pairs
        if (found := pair.tried()) not in ([pair.edge.target] if pair.edge else ["no_such_move", "task_held"])
    ]


# --- verbs and their methods -----------------------------------------------------------------------------------------


def verb_defects(pack: str, code: type[Protocol], streams: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with the verbs of a pack and their typed methods, as sentences.

    `streams`: methods that yield what an endless call of a verb yields, so they are not named after a verb.
    """
    found = [] if catalogue.is_free(pack) else [f"verbs of moot begin with {pack!r}"]
    module, _, attribute = code.methods.partition(":")
    owner = getattr(__import__(module, fromlist=[attribute]), attribute) if attribute else PackMethods
    methods = {n: m for n, m in inspect.getmembers(owner, inspect.isfunction) if not n.startswith("_")}
    verbs = {method_name(verb): verb for verb in (load_verb(pack, word, at) for word, at in code.verbs.items())}
    for name, verb in verbs.items():
        texts = [verb.summary, *(param.help for param in verb.params)]
        found += [f"`{verb.name}`: {text!r} is not a sentence" for text in texts if not text.endswith(".")]
        options = {param.name for param in verb.params if not param.positional}
        found += [f"`{verb.name}` cannot define --{option}" for option in sorted(options & GLOBAL)]
        if not verb.examples or not all(example.startswith(f"moot {verb.name}") for example in verb.examples):
            found.append(f"`{verb.name}` has no example that begins with `moot {verb.name}`")
        found += _compared(verb, methods[name]) if name in methods else [f"`{verb.name}` has no method {name}"]
    return found + [f"{name} is not a verb" for name in methods if name not in verbs and name not in streams]


def method_name(verb: Verb) -> str:
    """The method of `desk close-case`: `close_case`."""
    name = verb.name.partition(" ")[2].replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _compared(verb: Verb, method: Any) -> list[str]:
    given = {name: taken for name, taken in inspect.signature(method).parameters.items() if name != "self"}
    wanted = {param.name: param for param in verb.params if param.name != "follow"}
    usual = {
        name: inspect.Parameter.empty
        if param.required
        else ()
        if param.many
        else False
        if param.type == "flag"
        else param.default
        for name, param in wanted.items()
    }
    defaults = {name: taken.default for name, taken in given.items()}
    found = [f"the method of `{verb.name}` takes {defaults}, not {usual}"] if defaults != usual else []
    positional = [name for name, taken in given.items() if taken.kind is taken.POSITIONAL_OR_KEYWORD]
    if positional != [name for name, param in wanted.items() if param.positional]:
        found.append(f"the method of `{verb.name}` takes {positional} by position")
    return found


# --- agents that know only files -------------------------------------------------------------------------------------


class FileAgent:
    """An agent that reads a file of entries, changes it and writes it back, in place. It does not know moot."""

    def __init__(self, root: str | os.PathLike[str], mirror: MirrorSpec) -> None:
        self.path = os.path.join(root, mirror.path)
        self.entries: str | None = mirror.fields.get("entries")  # None: the file is the list itself
        self.kind: str = mirror.fields.get("type", "type")

    def content(self) -> Any:
        with open(self.path, encoding="utf-8-sig") as file:
            return json.load(file)

    def listed(self) -> list[Any]:
        """The entries that the file shows."""
        content = self.content()
        return content if self.entries is None else content[self.entries]

    def entry(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message as the file has it: its type is under the key of the mirror, or left out."""
        if self.kind == "type":
            return message
        rest = {key: value for key, value in message.items() if key != "type"}
        return {self.kind: message["type"], **rest} if self.kind else rest

    def write(self, content: Any) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(content, file)

    def append(self, *entries: Any) -> None:
        self.hold([*self.listed(), *entries])

    def hold(self, entries: list[Any]) -> None:
        """Let the file have these entries, and nothing else that is listed."""
        self.write(entries if self.entries is None else {**self.content(), self.entries: entries})
