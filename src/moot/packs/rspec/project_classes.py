"""What kind of class a name means in a project: a record (`model`), something queued (`queue`), or another (`object`).

By convention: PaymentGateway is in a file payment_gateway.rb below `app` or `lib`. A class below `app/models`, or one
that is derived from a record base class, is a model; one below `app/jobs` or `app/mailers` is queued. Only names that
occur in a source are looked up, so that the result changes only if something changes that matters to this source.
"""

from __future__ import annotations

import os

from moot.core.errors import MootError
from moot.packs.rspec.conditions import snake
from moot.packs.rspec.sources import read_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODEL, QUEUE, OBJECT = "model", "queue", "object"
_FOLDERS = ("app", "lib")
_MODELS, _QUEUED = "app/models/", ("app/jobs/", "app/mailers/")
_MOST_FILES = 50_000
_RECORD_BASES = rb"<\s*(?:::)?(?:ApplicationRecord|ActiveRecord::Base|Sequel::Model|ROM::Struct|Hanami::Entity)\b"
_RECORD_MODULES = rb"^\s*include\s+(?:::)?(?:Mongoid::Document|MongoMapper::Document|Hanami::Entity)\b"


def classes_for(root: str, source: bytes, files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The kinds of the classes that a source may mean, by name: those that it names, and those of its variables.

    `files`: the `ruby_files` of the project.
    """
    import re

    words = {word.decode("ascii") for word in re.findall(rb"[@$]*[A-Za-z_][A-Za-z0-9_]*", source)}
    wanted = {word if word[:1].isupper() else class_of(word) for word in words}
    found = {}
    for name in sorted(wanted):
        paths = files.get(f"{snake(name.rpartition('::')[2])}.rb", ())
        kinds = {_kind(root, path) for path in paths}
        if kinds:
            found[name] = next(kind for kind in (MODEL, QUEUE, OBJECT) if kind in kinds)
    return found


def ruby_files(root: str) -> dict[str, list[str]]:
    """The Ruby files of the project by their name. Links are not followed."""
    found: dict[str, list[str]] = {}
    count, start = 0, len(os.path.join(root, ""))
    for folder in _FOLDERS:
        for place, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".rb") and count < _MOST_FILES:
                    found.setdefault(name, []).append(os.path.join(place, name)[start:])
                    count += 1
    return found


def class_of(name: str) -> str:
    """The class that a variable holds by convention: `@payment_gateway` a PaymentGateway."""
    return "".join(part[:1].upper() + part[1:] for part in name.lstrip("@$").strip("?!").split("_"))


def _kind(root: str, path: str) -> str:
    import re

    if path.startswith(_MODELS):
        return MODEL
    if path.startswith(_QUEUED):
        return QUEUE
    try:
        data = read_source(root, path)
    except MootError:  # too large, binary, or a link out of the project
        return OBJECT
    record = re.search(_RECORD_BASES, data) or re.search(_RECORD_MODULES, data, re.MULTILINE)
    return MODEL if record else OBJECT
