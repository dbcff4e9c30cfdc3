"""The typed methods of the pack: one for each verb."""

from __future__ import annotations

import inspect

from moot.api.protocol.pack_verbs import load
from moot.packs.rspec.methods import Rspec
from moot.packs.rspec.verbs import TABLE


def test_each_verb_has_a_method_with_its_arguments() -> None:
    for word, code in TABLE.items():
        verb = load("rspec", word, code)
        given = [*inspect.signature(getattr(Rspec, word)).parameters][1:]
        assert given == [param.name for param in verb.params]
