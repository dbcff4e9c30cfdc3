"""What a method calls outside its own class: side effects, other classes, and the calls whose results it tests."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.analysis_words import HTTP_CLIENTS, QUERIES, VALUE_CLASSES, class_of, does, word_set, words_of
from moot.packs.ruby.syntax import constant_name, literal_text, text, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

_INNER = frozenset(("method", "singleton_method", "class", "module", "singleton_class"))
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


def calls(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        for one in walk(node, _INNER):
            if one.type == "call":
                yield one


def side_effects(nodes: Iterable[Node]) -> list[SideEffect]:
    """The side effects in the order of the code, each once."""
    found = [effect for call in calls(nodes) if (effect := effect_of(call)) is not None]
    return list(dict.fromkeys(found))


def effect_of(call: Node) -> SideEffect | None:
    method, receiver = method_name(call), call.child_by_field_name("receiver")
    if receiver is None:
        return _publishing(call, method) if method in _PUBLISHES else _named_webhook(method, "")
    root = _root(receiver)
    if method in _DELIVERIES and receiver.type == "call" and root.endswith("Mailer"):
        mail = words_of(method_name(receiver))
        return SideEffect("email", f"sends {mail} email")
    if _is_cache(receiver, root) and method in (_CACHE_WRITES | _REDIS_WRITES):
        return SideEffect(
            "cache", "deletes the cached value" if method in {"delete", "del", "clear"} else "writes the cache"
        )
    if method in _PUBLISHES:
        return _publishing(call, method)
    if root.removeprefix("::") in HTTP_CLIENTS and (method in _HTTP_CALLS or receiver.type == "call"):
        return SideEffect("external_api", f"sends an HTTP {method.partition('_')[0]} request")
    return _named_webhook(method, root or words_of(text(receiver))[:40])


def _is_cache(receiver: Node, root: str) -> bool:
    said = text(receiver)[:80].lower().lstrip("@$")
    return (
        said in {"rails.cache", "cache", "redis"}
        or root == "Redis"
        or said.endswith(".redis")
        or said == "redis.current"
    )


def _publishing(call: Node, method: str) -> SideEffect:
    arguments = call.child_by_field_name("arguments")
    name = None
    if arguments is not None and arguments.named_children:
        name = literal_text(arguments.named_children[0]) or constant_name(arguments.named_children[0])
    said = words_of(name.replace(".", "_")) if name else ""
    return SideEffect("event", f"publishes {said} event" if said else f"{does(method)} an event")


def _named_webhook(method: str, root: str) -> SideEffect | None:
    if "webhook" not in f"{method} {root}".lower():
        return None
    words = " ".join(word for word in words_of(root if "webhook" in root.lower() else method).split() if word)
    thing = " ".join(word for word in words.split() if word not in {"webhook", "send", "deliver", "notify", "client"})
    return SideEffect("webhook", f"sends {thing} webhook" if thing else "sends a webhook")


def classes_used(nodes: Iterable[Node], own: str) -> list[str]:
    """All other classes that the code names, without Ruby's own and errors."""
    found: dict[str, None] = {}
    for node in nodes:
        stack = [node]
        while stack:
            one = stack.pop()
            name = constant_name(one) if one.type in {"constant", "scope_resolution"} else None
            if name is not None:
                found[name.removeprefix("::")] = None
            elif one is node or one.type not in _INNER:
                stack.extend(reversed(one.named_children))
    return [name for name in found if _is_other(name, own)]


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

    def __init__(self, body: Node, own: str) -> None:
        self._own = own
        self._values: dict[str, Node] = {}
        for one in walk(body, _INNER):
            left, right = (one.child_by_field_name(side) for side in ("left", "right"))
            if one.type == "assignment" and left is not None and right is not None:
                self._values[text(left)[:80]] = right

    def of(self, subject: Node, depth: int = 0) -> Origin | None:
        """The operation of another class whose result is tested; None for what is set up instead of stubbed."""
        if depth > 5:
            return None
        if subject.type in {"identifier", "instance_variable"}:
            value = self._values.get(text(subject)[:80])
            return None if value is None else self.of(value, depth + 1)
        if subject.type != "call":
            return None
        receiver, method = subject.child_by_field_name("receiver"), method_name(subject)
        if receiver is None:
            return None
        target = self._class_of(receiver, depth)
        if target is not None:
            plain = constant_name(receiver) is not None and (method in QUERIES or method in _MAKERS)
            return None if plain or not _is_other(target, self._own) else Origin(target, method)
        if receiver.type == "instance_variable" and _has_arguments(subject) and not method.endswith(("?", "!")):
            return None if method in _VALUE_CALLS else Origin(class_of(text(receiver)), method)
        return self.of(receiver, depth + 1)

    def _class_of(self, receiver: Node, depth: int) -> str | None:
        """The class that a receiver is, or is a new object of."""
        name = constant_name(receiver)
        if name is not None:
            return name.removeprefix("::")
        if receiver.type == "call" and method_name(receiver) in _MAKERS:
            inner = receiver.child_by_field_name("receiver")
            return None if inner is None else (constant_name(inner) or "").removeprefix("::") or None
        if receiver.type in {"identifier", "instance_variable"} and depth < 5:
            value = self._values.get(text(receiver)[:80])
            if value is not None and value.type == "call" and method_name(value) in _MAKERS:
                return self._class_of(value, depth + 1)
        return None


def method_name(call: Node) -> str:
    method = call.child_by_field_name("method")
    return "call" if method is None else text(method)


def _has_arguments(call: Node) -> bool:
    arguments = call.child_by_field_name("arguments")
    return arguments is not None and bool(arguments.named_children)


def _root(node: Node) -> str:
    """The constant at the beginning of a chain of calls; empty if there is none."""
    while node.type == "call":
        receiver = node.child_by_field_name("receiver")
        if receiver is None:
            return ""
        node = receiver
    return constant_name(node) or ""
