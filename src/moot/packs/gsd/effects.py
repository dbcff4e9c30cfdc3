"""Custom handlers: `custom:slack-notify` in `.planning/config.json`.

The name means the command, web address, function or message that `[pack.gsd.handlers.slack-notify]` in moot.toml
registers, or else the executable `slack-notify`, with any extension, in `.planning/handlers/` of the main worktree. It
gets the event of the blackboard: on standard input, or as the body of a request.

They are effects of moot, and run only after a person allowed them on the machine. `moot effects` and `moot allow` show
them as `gsd/slack-notify`.
"""

from __future__ import annotations

import os

from moot.api.answer import Notice
from moot.api.protocol.pack_effects import EffectRequest, Handler, PackEffects
from moot.core.deciders.feed import Posted
from moot.packs.gsd.handlers import CUSTOM, PACK, HandlerTable
from moot.packs.gsd.sources import known_handlers
from moot.views import effects as view
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.core.event import Event
    from moot.engine.unit_of_work import Work
    from moot.settings import Settings

FOLDER, CONFIG_FILE = ".planning/handlers", ".planning/config.json"
DEEPEST = 10  # events, each emitted by a handler of the one before
TIMEOUT = 30.0
STREAM = f"feed/{PACK}"
_LEFTOVERS = ("~", ".bak", ".orig", ".swp")  # of editors


class GsdEffects(PackEffects):
    """See the module."""

    def requests(self, work: Work) -> Iterator[EffectRequest]:
        for n, draft in enumerate(work.drafts):
            if draft.type == Posted.type and draft.stream == STREAM:
                kind = str(draft.data["event"].get("type", ""))
                for name in draft.data.get("handled", ()):
                    if name.startswith(CUSTOM):
                        handler = f"{PACK}/{name.removeprefix(CUSTOM)}"
                        yield EffectRequest(handler=handler, n=n, on=kind, deepest=DEEPEST)

    def handlers(self, call: Call, registered: Mapping[str, Mapping[str, Any]]) -> Iterator[Handler]:
        store = call.engine.read()
        waiting = (name for name, _, _ in view.counts(store) if name.startswith(f"{PACK}/"))
        for name in dict.fromkeys((*known_handlers(store).named, *(one.removeprefix(f"{PACK}/") for one in waiting))):
            found = resolved(name, root_of(call), registered)
            if isinstance(found, Handler):
                yield found

    def shown(self, event: Event) -> Mapping[str, Any]:
        return Posted.of(event.data).shown

    def notices(self, call: Call, events: Sequence[Event]) -> Iterator[Notice]:
        posted = (event.data["event"] for event in events if event.type == Posted.type and event.stream == STREAM)
        kinds = sorted({str(event.get("type", "")) for event in posted})
        table = known_handlers(call.engine.read()) if kinds else HandlerTable()
        for kind in kinds:
            named = [resolved(name, root_of(call), registered_in(call.settings)) for name in table.custom(kind)]
            wrong = (f"{CONFIG_FILE}, {problem}" for problem in table.wrong.get(kind, ()))
            for problem in (*wrong, *(one for one in named if isinstance(one, str))):
                yield Notice("handler_unusable", f"A handler of {kind} cannot run: {problem}.")


def registered_in(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """The handlers in moot.toml."""
    found: Mapping[str, Mapping[str, Any]] = settings.pack_settings.get(PACK, {}).get("handlers", {})
    return found


def root_of(call: Call) -> str:
    """Where custom handlers are, and where they run."""
    return call.place.main_root or call.place.root


def resolved(name: str, root: str, registered: Mapping[str, Mapping[str, Any]]) -> Handler | str:
    """The handler that a name means, or why it means none."""
    usual = {"name": f"{PACK}/{name}", "on": (), "pack": PACK, "timeout": TIMEOUT}
    if name in registered and "wrong" in registered[name]:
        return f"custom:{name} is not registered correctly: {'; '.join(map(said, registered[name]['wrong']))}"
    if name in registered:
        return Handler.of({**usual, **registered[name]})
    found = _files(name, os.path.join(root, FOLDER))
    if len(found) == 1:
        return Handler.of({**usual, "run": (f"{FOLDER}/{found[0]}",)})
    if found:
        return f"custom:{name} is ambiguous: {', '.join(found)} in {FOLDER}/. Remove all but one of them"
    there = _files(name, os.path.join(root, FOLDER), executable=False)
    if there:
        return f"custom:{name}: {FOLDER}/{there[0]} is not executable. Run `chmod +x {FOLDER}/{there[0]}`"
    return (
        f"custom:{name} leads to nothing: there is no executable {name} in {FOLDER}/, and no "
        f"[pack.{PACK}.handlers.{name}] in moot.toml"
    )


def said(problem: Mapping[str, Any]) -> str:
    """A problem of a handler in moot.toml."""
    return f"moot.toml, line {problem['line']}: {problem['text']}"


def cause_of(call: Call) -> int:
    """The number of the event whose handler makes this call; 0 if the caller is not a handler."""
    key = call.env.get("MOOT_EFFECT_KEY")
    effect = states.state(call.engine.read(), "effect", key)[0] if key else None
    if effect is None or not effect.status or effect.stream != STREAM:
        return 0
    event = next(iter(call.engine.log.read(max(0, effect.event - 1), 1)), None)
    return int(event.data.get("number", 0)) if event is not None and event.type == Posted.type else 0


def _files(name: str, folder: str, *, executable: bool = True) -> list[str]:
    """The files of a handler: its name, with any extension."""
    try:
        there = sorted(os.listdir(folder))
    except OSError:
        return []
    named = [one for one in there if one.partition(".")[0] == name and not one.endswith(_LEFTOVERS)]
    paths = {one: os.path.join(folder, one) for one in named}
    return [one for one, path in paths.items() if os.path.isfile(path) and (not executable or os.access(path, os.X_OK))]
