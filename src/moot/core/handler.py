"""A handler: which events it matches, and what to do for each of them. It is in `moot.toml`, or a pack names it.

This module only matches events and describes the action. Consent and execution are elsewhere.
"""

from __future__ import annotations

from moot.core.json_codec import dumps
from moot.core.principal import HANDLER, name_of
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from moot.core.event import Draft

KINDS = ("run", "message")
MOOT = "moot"  # the sender of moot's own notices
NOUN = "effect"  # events about effects cause no effects, to prevent endless loops
ALL = "*"
BOOKKEEPING = frozenset(("message:offered", "message:acked"))  # written by reading mail; `*` does not match them


class Handler(Record):
    """One handler. Exactly one of `run` and `message` is set.

    `pack`: it gets events of this pack, in the pack's own form, and the pack decides which. Its name is `pack/name`.
    `stage`: it is not a handler but the command of an agent, for a stage of `moot run`. Its name is `pack.stage`.
    """

    name: str
    on: tuple[str, ...]
    pack: str = ""
    stage: str = ""
    streams: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    data: Mapping[str, Any] = {}
    run: tuple[str, ...] = ()
    message: Mapping[str, str] | None = None
    env: tuple[str, ...] = ()
    attempts: int = 5
    timeout: float = 60.0
    backoff: float = 5.0
    at_once: int = 4

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if self.__dict__[kind])

    @property
    def principal(self) -> str:
        """The sender of its messages."""
        return f"{HANDLER}{self.name}"

    @property
    def what(self) -> str:
        """A short description of the action."""
        return f"run {dumps(list(self.run))}" if self.run else f"tell {(self.message or {}).get('to', '')}"

    @property
    def content(self) -> str:
        """The whole definition in canonical form. Consent covers exactly this content."""
        return dumps(dict(sorted(self.plain().items())))

    def wants(self, draft: Draft, by: str) -> bool:
        """Whether it matches an event that this principal is about to append."""
        return (
            any(fits(draft.type, pattern) and (pattern != ALL or draft.type not in BOOKKEEPING) for pattern in self.on)
            and (not self.streams or any(fits(draft.stream.lower(), pattern.lower()) for pattern in self.streams))
            and (not self.by or any(_is(by, pattern) for pattern in self.by))
            and all(_same(found(draft.data, path), value) for path, value in self.data.items())
        )


def handlers_of(settings: Iterable[Mapping[str, Any]]) -> tuple[Handler, ...]:
    """The handlers in the settings (`[[handlers]]`)."""
    return tuple(Handler.of(fields) for fields in settings)


def commands_of(runs: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> tuple[Handler, ...]:
    """The commands of agents in the settings (`[run.PACK]`). Each is called `PACK.STAGE`."""
    return tuple(
        Handler.of({**fields, "name": f"{pack}.{stage}", "on": [], "pack": pack, "stage": stage})
        for pack, stages in runs.items()
        for stage, fields in stages.items()
    )


def requested(drafts: Iterable[Draft], by: str, handlers: Iterable[Handler]) -> Iterator[tuple[Handler, int, Draft]]:
    """The effects that a commit causes: the handler, and the number and draft of the causing event."""
    known = tuple(handlers)
    for n, draft in enumerate(drafts):
        sender = str(draft.data.get("sender", "")) if draft.type == "message:sent" else ""
        if draft.type.startswith(f"{NOUN}:") or sender == MOOT or sender.startswith(HANDLER):  # would loop
            continue
        for handler in known:
            if handler.wants(draft, by):
                yield handler, n, draft


def fits(word: str, pattern: str) -> bool:
    return word == pattern or (pattern.endswith("*") and word.startswith(pattern[:-1]))


def found(data: Any, path: str) -> Any:
    """The value at a path such as `result.files.0`; None if there is none."""
    for step in path.split("."):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, (list, tuple)) and step.isascii() and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return data


def filled(text: str, event: Mapping[str, Any]) -> str:
    """The text with `{type}`, `{stream}`, `{by}`, `{position}`, `{at}` and `{data.…}` filled in from the event."""
    parts = text.split("{")
    pieces = [parts[0]]
    for part in parts[1:]:
        path, brace, rest = part.partition("}")
        known = brace and path.partition(".")[0] in ("type", "stream", "by", "position", "at", "data")
        value = found(event, path) if known else None
        pieces.append(f"{_text(value)}{rest}" if known else "{" + part)
    return "".join(pieces)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else dumps(value)


def _is(by: str, pattern: str) -> bool:
    who, wanted = by.lower(), pattern.lower()
    return fits(who, wanted) or fits(name_of(who), wanted)


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
