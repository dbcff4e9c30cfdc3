"""A handler: which events it wants, and what is to be done because of them. Written in `moot.toml`.

Pure: it says what fits and what exactly would be done. Doing it, and asking whether it may be done, are others' jobs.
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

KINDS = ("run", "url", "python", "message")
SETTINGS = "settings"  # no handler is called so: to a person who allows things, it means settings that weaken a rule
MOOT = "moot"  # who sent the messages of handlers before they were named
NOUN = "effect"  # what happens to effects causes none, or there would be no end to it
ALL = "*"
BOOKKEEPING = frozenset(("message:offered", "message:acked"))  # whoever reads mail writes these; `*` does not mean them


class Handler(Record):
    """See the module. Of `run`, `url`, `python` and `message` exactly one is given."""

    name: str
    on: tuple[str, ...]
    streams: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    data: Mapping[str, Any] = {}
    run: tuple[str, ...] = ()
    url: str | None = None
    python: str | None = None
    message: Mapping[str, str] | None = None
    allow_hosts: tuple[str, ...] = ()
    secret_env: str | None = None
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
        """Who sends its messages."""
        return f"{HANDLER}{self.name}"

    @property
    def what(self) -> str:
        """What it does, in a few words."""
        match self.kind:
            case "run":
                return f"run {dumps(list(self.run))}"
            case "url":
                return f"post to {self.url}"
            case "python":
                return f"call {self.python}"
            case _:
                return f"tell {(self.message or {}).get('to', '')}"

    @property
    def content(self) -> str:
        """Everything that it says, in one form: whoever allows it allows exactly this."""
        return dumps(dict(sorted(self.plain().items())))

    def wants(self, draft: Draft, by: str) -> bool:
        """Whether an event, about to be appended by this principal, is one of those it is for."""
        return (
            any(fits(draft.type, pattern) and (pattern != ALL or draft.type not in BOOKKEEPING) for pattern in self.on)
            and (not self.streams or any(fits(draft.stream.lower(), pattern.lower()) for pattern in self.streams))
            and (not self.by or any(_is(by, pattern) for pattern in self.by))
            and all(_same(found(draft.data, path), value) for path, value in self.data.items())
        )


def requested(drafts: Iterable[Draft], by: str, handlers: Iterable[Handler]) -> Iterator[tuple[Handler, int, Draft]]:
    """The effects that a commit causes: for which handler, because of which of its events."""
    known = tuple(handlers)
    for n, draft in enumerate(drafts):
        sender = str(draft.data.get("sender", "")) if draft.type == "message:sent" else ""
        if (
            draft.type.startswith(f"{NOUN}:") or sender == MOOT or sender.startswith(HANDLER)
        ):  # nothing goes round in circles
            continue
        for handler in known:
            if handler.wants(draft, by):
                yield handler, n, draft


def fits(word: str, pattern: str) -> bool:
    return word == pattern or (pattern.endswith("*") and word.startswith(pattern[:-1]))


def found(data: Any, path: str) -> Any:
    """What stands at a path such as `result.files.0`; None if nothing does."""
    for step in path.split("."):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, (list, tuple)) and step.isascii() and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return data


def filled(text: str, event: Mapping[str, Any]) -> str:
    """A text with `{type}`, `{stream}`, `{by}`, `{position}` and `{data.…}` replaced by what the event says."""
    parts = text.split("{")
    said = [parts[0]]
    for part in parts[1:]:
        path, brace, rest = part.partition("}")
        known = brace and path.partition(".")[0] in ("type", "stream", "by", "position", "at", "data")
        value = found(event, path) if known else None
        said.append(f"{_text(value)}{rest}" if known else "{" + part)
    return "".join(said)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else dumps(value)


def _is(by: str, pattern: str) -> bool:
    who, wanted = by.lower(), pattern.lower()
    return fits(who, wanted) or fits(name_of(who), wanted)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON is: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
