"""The programs of the polisher that come with the repository, and whether a person has allowed them.

A command in moot.toml comes with the repository, and so does a program of its Gemfile. Neither runs without consent.
`ruby`, `rubocop`, `standardrb` and `rspec` as they are installed on this machine need none: the caller asked for them.
"""

from __future__ import annotations

import os

from moot.core.handler import Handler
from moot.packs.rspec_v1 import polishing
from moot.packs.ruby.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Allows = Callable[[Handler], bool]

PACK = "rspec-v1"
_RUBY, _BUNDLE = ("ruby",), "bundle"


def programs(root: str, settings: Mapping[str, Any]) -> Iterator[Handler]:
    """The programs that need consent, as `moot allow` shows them."""
    for name, words in commands(root, settings).items():
        if words != _RUBY if name == "ruby" else settings[name] or words[0] == _BUNDLE:
            yield handler(name, words, settings)


def commands(root: str, settings: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """How each program is started here. Without a linter there is none."""
    bundled = (_BUNDLE, "exec") if os.path.isfile(os.path.join(root, "Gemfile")) else ()
    linter = _linter(root)
    found = {"ruby": tuple(settings["ruby"])}
    if linter is not None:
        found["linter"] = tuple(settings["linter"]) or (*bundled, linter)
    return {**found, "rspec": tuple(settings["rspec"]) or (*bundled, "rspec")}


def handler(name: str, words: Sequence[str], settings: Mapping[str, Any]) -> Handler:
    timeout = float(settings[f"{name}_timeout"])
    return Handler(name=f"{PACK}.{name}", on=(), pack=PACK, stage=name, run=tuple(words), timeout=timeout)


def unallowed(root: str, settings: Mapping[str, Any], allows: Allows) -> Handler | None:
    """The first program that nobody has allowed; None if all may run."""
    return next((one for one in programs(root, settings) if not allows(one)), None)


def _linter(root: str) -> str | None:
    try:
        files = set(os.listdir(root))
    except OSError:
        return None
    gemfile = ""
    try:
        gemfile = read_regular(os.path.join(root, "Gemfile"), 1 << 20)[0].decode("utf-8", "replace")
    except OSError:
        pass
    return polishing.linter_of(files, gemfile)
