"""Compares the verbs of a pack with its typed Python methods, for the tests of the pack."""

from __future__ import annotations

import inspect  # noqa: TID253 (no command loads this module)
import keyword

from moot.api import catalogue
from moot.api.protocol.pack_methods import PackMethods
from moot.api.protocol.pack_verbs import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.catalogue import Param, Verb
    from moot.api.protocol import Protocol


GLOBAL = ("json", "help", "version", "agent", "person", "quiet", "at")  # options of every verb


def verbs(pack: str, code: type[Protocol]) -> list[Verb]:
    """The verbs of a pack. Raises `Usage` if its table names something that is not a verb."""
    return [load(pack, word, place) for word, place in code.verbs.items()]


def verb_defects(pack: str, code: type[Protocol], streams: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with the verbs of a pack and their methods, as sentences.

    `streams`: methods that yield what an endless call of a verb yields, so they are not named after a verb.
    """
    found = (
        [] if catalogue.is_free(pack) else [f"verbs of moot begin with {pack!r}, so `moot {pack}` is not the pack's"]
    )
    methods = _methods(code)
    named = {method_name(verb): verb for verb in verbs(pack, code)}
    for name, verb in named.items():
        found += _described(verb)
        if name not in methods:
            found.append(f"`{verb.name}` has no method {name}")
        else:
            found += _compared(verb, methods[name])
    return found + [f"{name} is not a verb" for name in methods if name not in named and name not in streams]


def method_name(verb: Verb) -> str:
    """The method of `desk close-case`: `close_case`."""
    name = verb.name.partition(" ")[2].replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _methods(code: type[Protocol]) -> dict[str, Any]:
    module, _, attribute = code.methods.partition(":")
    owner = getattr(__import__(module, fromlist=[attribute]), attribute) if attribute else PackMethods
    return {n: m for n, m in inspect.getmembers(owner, inspect.isfunction) if not n.startswith("_")}


def _described(verb: Verb) -> list[str]:
    texts = {f"the summary of `{verb.name}`": verb.summary}
    texts |= {f"the help of {param.name} of `{verb.name}`": param.help for param in verb.params}
    found = [f"{what} is not a sentence" for what, text in texts.items() if not text.endswith(".")]
    taken = [param.name for param in verb.params if not param.positional and param.name in GLOBAL]
    found += [f"every verb has the option --{name}, so `{verb.name}` cannot define it" for name in taken]
    examples = verb.examples and all(example.startswith(f"moot {verb.name}") for example in verb.examples)
    return found if examples else [*found, f"`{verb.name}` has no example that begins with `moot {verb.name}`"]


def _compared(verb: Verb, method: Any) -> list[str]:
    taken = {n: p for n, p in inspect.signature(method).parameters.items() if n != "self"}
    wanted = {param.name: _default(param) for param in verb.params if param.name != "follow"}
    given = {name: parameter.default for name, parameter in taken.items()}
    found = [f"the method of `{verb.name}` takes {given}, not {wanted}"] if given != wanted else []
    positional = [n for n, p in taken.items() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if positional != [param.name for param in verb.params if param.positional]:
        found.append(f"the method of `{verb.name}` takes {positional} by position")
    return found


def _default(param: Param) -> Any:
    if param.required:
        return inspect.Parameter.empty
    return () if param.many else False if param.type == "flag" else param.default
