"""Effects that go on only when a person says so: parked ones, and those of handlers that nobody has allowed here."""

from __future__ import annotations

from itertools import islice

from moot.core.errors import Refused
from moot.core.text import REASON, command_line, counted, one_line, option
from moot.needs_me import Waiting
from moot.views import effects as view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.answer import Answer
    from moot.api.call import Call


def parked(call: Call, most: int) -> Iterator[Waiting]:
    for effect in islice(view.effects(call.engine.read(), None, "parked"), most):
        retrying = command_line("effects retry", effect.id)
        tries = counted(effect.attempt, "attempt")
        yield Waiting(
            kind="effect",
            id=effect.id,
            since=effect.at,
            who=effect.handler,
            text=f"parked after {tries} at {effect.on} of {effect.stream}: {effect.reason}",
            command=f"{retrying}, or {command_line('effects drop', effect.id, options=REASON)}",
        )


def retry(call: Call, name: str, text: str) -> Answer:
    from moot.api.verbs.effects.effects import retry as again

    return again(call, (name,), text)


def unallowed(call: Call) -> Iterator[Waiting]:
    """One for each handler: what is allowed is the handler, not its effects."""
    if not call.settings.handlers:
        return
    from moot.api.verbs.effects.allow import consent_of, handlers_of

    store, consent = call.engine.read(), consent_of(call)
    for handler in handlers_of(call):
        first = None if consent.allows(handler) else next(view.effects(store, handler.name, "waiting"), None)
        if first is not None:
            yield Waiting(
                kind="handler",
                id=handler.name,
                since=first.at,
                who="moot.toml",
                text=f"wants to {handler.what} because of {first.on}",
                command=command_line("allow", handler.name),
            )


def allow(call: Call, name: str, text: str) -> Answer:
    """Only a plain yes lets something run on this machine."""
    from moot.api.verbs.effects.allow import handlers_of, named, permit

    if text.strip().lower() == "yes":
        return permit(call, named(handlers_of(call), (name,)), yes=call.ask is None)
    raise Refused(
        "not_answered_here",
        f"The handler {name} waits to be allowed, and {one_line(text, 60)!r} is not yes.",
        f"Allow it: `{command_line('needs-me', 'yes', options=option('--answer', name))}`. "
        "Or take it out of moot.toml, and drop what waits for it: "
        f"`{command_line('effects', options=option('--handler', name))}`.",
        handler=name,
    )
