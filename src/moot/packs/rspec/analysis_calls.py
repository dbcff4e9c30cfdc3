"""What a method calls outside its own class: side effects, other classes, and the calls whose results it tests."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_words import HTTP_CLIENTS, QUERIES, VALUE_CLASSES, class_of, does, word_set, words_of
from moot.packs.ruby.method_code import assigned_values, calls_of, constants_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.packs.ruby.expressions import Expression
    from moot.packs.ruby.methods import Method

_DELIVERIES = frozenset(("deliver", "deliver_now", "deliver_later", "deliver!", "deliver_now!", "deliver_later!"))
_CACHE_WRITES = frozenset(
    ("write", "write_multi", "delete", "delete_matched", "increment", "decrement", "clear", "fetch")
)
_REDIS_WRITES = word_set(
    "set setex setnx mset del incr incrby decr decrby hset hdel hmset expire lpush rpush sadd srem zadd zrem rename"
)
_PUBLISHES = frozenset(("publish", "broadcast", "instrument", "emit", "dispatch_event", "publish_event"))
_HTTP_CALLS = word_set("get post put patch delete head request start post_form get_response execute")
_VALUE_CALLS = frozenset(
    ("fetch", "dig", "round", "key", "index", "values_at", "slice", "join", "split", "to_s", "to_i")
)
_MAKERS = frozenset(("new", "instance"))


class SideEffect(Record):
    """A side effect and what it does."""

    kind: str
    does: str


class Origin(Record):
    """The call to another class that a value comes from."""

    class_name: str
    method: str


def side_effects(methods: Iterable[Method]) -> list[SideEffect]:
    """The side effects in the order of the code, each once."""
    found = [effect for call in calls_of(methods) if (effect := effect_of(call)) is not None]
    return list(dict.fromkeys(found))


def effect_of(call: Expression) -> SideEffect | None:
    method, receiver, root = call.name, call.receiver, call.root
    if receiver is None:
        return _publishing(call, method) if method in _PUBLISHES else _named_webhook(method, "")
    if method in _DELIVERIES and receiver.kind == "call" and root.endswith("Mailer"):
        mail = words_of(receiver.name)
        return SideEffect("email", f"sends {mail} email")
    if _is_cache(receiver, root) and method in (_CACHE_WRITES | _REDIS_WRITES):
        return SideEffect(
            "cache", "deletes the cached value" if method in {"delete", "del", "clear"} else "writes the cache"
        )
    if method in _PUBLISHES:
        return _publishing(call, method)
    if root.removeprefix("::") in HTTP_CLIENTS and (method in _HTTP_CALLS or receiver.kind == "call"):
        return SideEffect("external_api", f"sends an HTTP {method.partition('_')[0]} request")
    return _named_webhook(method, root or words_of(receiver.text)[:40])


def _is_cache(receiver: Expression, root: str) -> bool:
    said = receiver.text[:80].lower().lstrip("@$")
    return (
        said in {"rails.cache", "cache", "redis"}
        or root == "Redis"
        or said.endswith(".redis")
        or said == "redis.current"
    )


def _publishing(call: Expression, method: str) -> SideEffect:
    first = call.operands[0] if call.operands else None
    name = None if first is None else first.value or (first.name if first.kind == "constant" else None)
    said = words_of(name.replace(".", "_")) if name else ""
    return SideEffect("event", f"publishes {said} event" if said else f"{does(method)} an event")


def _named_webhook(method: str, root: str) -> SideEffect | None:
    if "webhook" not in f"{method} {root}".lower():
        return None
    words = " ".join(word for word in words_of(root if "webhook" in root.lower() else method).split() if word)
    thing = " ".join(word for word in words.split() if word not in {"webhook", "send", "deliver", "notify", "client"})
    return SideEffect("webhook", f"sends {thing} webhook" if thing else "sends a webhook")


def classes_used(methods: Iterable[Method], own: str) -> list[str]:
    """All other classes that the code names, without Ruby's own and errors."""
    return [name for name in constants_of(methods) if _is_other(name, own)]


def _is_other(name: str, own: str) -> bool:
    last = name.rpartition("::")[2]
    return (
        not last.isupper()
        and not name.endswith(("Error", "Exception"))
        and name.partition("::")[0] not in VALUE_CLASSES
        and name != own
        and name != own.rpartition("::")[2]
    )


class Origins:
    """Where the values of local and instance variables come from, as far as the method shows it."""

    def __init__(self, method: Method, own: str) -> None:
        self._own = own
        self._values = assigned_values(method)

    def of(self, subject: Expression, depth: int = 0) -> Origin | None:
        """The operation of another class whose result is tested; None for what is set up instead of stubbed."""
        if depth > 5:
            return None
        if subject.kind in {"name", "variable"}:
            value = self._values.get(subject.name)
            return None if value is None else self.of(value, depth + 1)
        receiver, method = subject.receiver, subject.name
        if subject.kind != "call" or receiver is None:
            return None
        target = self._class_of(receiver, depth)
        if target is not None:
            plain = receiver.kind == "constant" and (method in QUERIES or method in _MAKERS)
            return None if plain or not _is_other(target, self._own) else Origin(target, method)
        given = subject.operands or subject.pairs
        is_own = receiver.kind == "variable" and receiver.name.startswith("@")
        if is_own and given and not method.endswith(("?", "!")):
            return None if method in _VALUE_CALLS else Origin(class_of(receiver.name), method)
        return self.of(receiver, depth + 1)

    def _class_of(self, receiver: Expression, depth: int) -> str | None:
        """The class that a receiver is, or is a new object of."""
        if receiver.kind == "constant":
            return receiver.name.removeprefix("::")
        if receiver.kind == "call" and receiver.name in _MAKERS:
            inner = receiver.receiver
            return inner.name.removeprefix("::") if inner is not None and inner.kind == "constant" else None
        if receiver.kind in {"name", "variable"} and depth < 5:
            value = self._values.get(receiver.name)
            if value is not None and value.kind == "call" and value.name in _MAKERS:
                return self._class_of(value, depth + 1)
        return None
