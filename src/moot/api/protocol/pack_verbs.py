"""The verbs that a pack brings: `moot PACK WORD`.

Only a pack with code has any: a table `Protocol.verbs` with the "module:attribute" of each `Verb`. A verb is imported
when it is used. On every surface it works like a verb of the catalogue.
"""

from __future__ import annotations

from moot.api import catalogue
from moot.api.catalogue import KINDS, Verb
from moot.core.errors import Usage
from moot.core.pack_code import PackCode
from moot.core.text import command_line, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.api.protocol import Packs


def verb_of(packs: Packs, name: str) -> Verb:
    """The verb `PACK WORD` of an active pack. An exception in its code becomes an error that names the pack."""
    pack, _, word = name.partition(" ")
    if all(one.name != pack for one in packs.packs):
        raise inactive(pack, name)
    table = packs.protocol(pack).verbs
    if word not in table:
        known = f"`{pack}` is followed by {', '.join(table)}." if table else f"{pack} has no verbs of its own here."
        raise catalogue.unknown_verb(name, known)
    verb = load(pack, word, table[word])

    def does(call: Call, **given: Any) -> Answer:
        with PackCode(pack, f"verb {word}"):
            answer = verb.does(call, **given)
        return answer if answer.more is None else answer.replace(more=_guarded(pack, word, answer.more))

    return verb.replace(does=does)


def load(pack: str, word: str, code: str) -> Verb:
    """Import the verb that a pack's table names."""
    module, _, attribute = code.partition(":")
    try:
        found = getattr(__import__(module, fromlist=[attribute]), attribute)
    except (ImportError, AttributeError) as error:
        raise _unusable(pack, word, code, str(error)) from error
    if not isinstance(found, Verb):
        raise _unusable(pack, word, code, "it is not a Verb")
    if found.name != f"{pack} {word}":
        raise _unusable(pack, word, code, f"its name is {found.name!r}, and must be '{pack} {word}'")
    if found.kind not in KINDS or not found.opens:
        raise _unusable(pack, word, code, "it has no valid class, or needs no workspace")
    return found


def inactive(pack: str, name: str) -> Usage:
    """The error for a verb of a pack that the workspace does not use."""
    return Usage(
        "pack_inactive",
        f"`{command_line('', *name.split())}` belongs to the pack {pack}, which is not active in this workspace.",
        f"Activate it: `{command_line('init', options=option('--pack', pack))}`.",
        pack=pack,
    )


def _guarded(pack: str, word: str, items: Iterator[Answer]) -> Iterator[Answer]:
    with PackCode(pack, f"verb {word}"):
        yield from items


def _unusable(pack: str, word: str, code: str, why: str) -> Usage:
    return Usage(
        "pack_unusable",
        f"The pack {pack} names its verb {word!r} as {code!r}: {why}.",
        "Install it again, or report this to its authors.",
        pack=pack,
        verb=word,
    )
