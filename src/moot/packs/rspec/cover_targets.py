"""From discovery's documents to the targets of the pipeline: one for each document and wave.

Reads the project once: its gems, its helper, the kinds of its classes, and its factories. The rest is pure.
"""

from __future__ import annotations

import os

from moot.core.deciders.document import key
from moot.core.flat_json import unflatten
from moot.core.record import Record
from moot.packs.rspec import isolation
from moot.packs.rspec.factory_checks import GEMS, factories_in
from moot.packs.rspec.reviewing import command
from moot.pipelines.contract import DocumentRef, Target
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.api.call import Call

MIRROR = "rspec/metadata"
FACTORIES = "spec/factories"
LATER = "Custom: its wave comes later"
_LARGEST = 1 << 20


class RspecProject(Record):
    """What the stages need to know of a project."""

    root: str
    worktree: str
    type: str
    helper: str
    rspec: tuple[str, ...]
    factory_gem: bool
    factories: Mapping[str, str]  # the file of each factory
    folder: str = "tmp"

    def document(self, slug: str) -> DocumentRef:
        path = f"{self.folder}/rspec_metadata/{slug}.yml"
        return DocumentRef(key("rspec", self.worktree, f"metadata.{slug}"), MIRROR, self.worktree, slug, path)


def project_of(call: Call, settings: Mapping[str, Any]) -> RspecProject:
    """Look at the project in the caller's worktree."""
    from moot.place import MAIN, worktrees

    root = os.path.realpath(call.place.root)
    tree = next((one.name for one in worktrees(call.place) if os.path.realpath(one.root) == root), MAIN)
    lock = _text(root, "Gemfile.lock")
    gems = isolation.gems_of(_text(root, "Gemfile"), lock)
    return RspecProject(
        root=root,
        worktree=tree,
        type=isolation.project_type(sorted(os.listdir(root)), gems, settings.get("project_type", "auto")),
        helper=_helper(root),
        rspec=tuple(command(settings.get("rspec", ()), lock)),
        factory_gem=not GEMS.isdisjoint(gems),
        factories=_factories(root),
        folder=settings.get("metadata", "tmp"),
    )


def rspec_of(root: str, settings: Mapping[str, Any]) -> list[str]:
    """The command that runs RSpec in a project."""
    return command(settings.get("rspec", ()), _text(root, "Gemfile.lock"))


def _text(root: str, name: str) -> str:
    """A small file of the project; empty if there is none, or it is not one."""
    path = os.path.join(root, name)
    if os.path.islink(path) or not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return file.read(_LARGEST).decode("utf-8", "replace")


def _helper(root: str) -> str:
    """The helper that a new spec file requires; none if `.rspec` already does."""
    options = _text(root, ".rspec")
    for name in ("rails_helper", "spec_helper"):
        if os.path.isfile(os.path.join(root, "spec", f"{name}.rb")):
            return "" if name in options else name
    return ""


def _factories(root: str) -> dict[str, str]:
    folder = os.path.join(root, FACTORIES)
    found: dict[str, str] = {}
    if os.path.islink(folder) or not os.path.isdir(folder):
        return found
    for name in sorted(os.listdir(folder)):
        path = f"{FACTORIES}/{name}"
        if name.endswith(".rb"):
            found |= dict.fromkeys(factories_in(_text(root, path).encode()), path)
    return found


def factory_files(models: Iterable[str], factories: Mapping[str, str]) -> tuple[str, ...]:
    """The files with the factories of these models: where they are, or where they belong."""
    found: dict[str, None] = {}
    for model in models:
        name = underscored(model)
        found[factories.get(name, f"{FACTORIES}/{plural(name)}.rb")] = None
    return tuple(sorted(found))


def underscored(name: str) -> str:
    import re

    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("::", "_")).lower()


def plural(name: str) -> str:
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def target_of(
    project: RspecProject,
    slug: str,
    values: Mapping[str, Any],
    waves: Mapping[int, Iterable[str]],
    wave: int,
    classes: Mapping[str, str],
    extra: Mapping[str, Any],
    known: Iterable[Mapping[str, Any]] = (),
) -> Target:
    """The target of a document in a wave: the methods of this wave, and of those before it.

    It has the files of factories that its stages may write, unless it is certain that none is needed: factory-agent
    will then be skipped. `known`: the methods in the document.
    """
    source = values["source_file"]
    reached = {name for number, names in waves.items() if number <= wave for name in names}
    done = sorted(name for number, names in waves.items() if number < wave for name in names)
    entries = [_reached(entry, reached) for entry in values["methods_to_analyze"]]
    models = {name for name, kind in classes.items() if kind == "model"}
    if source.startswith("app/models/"):
        models.add(values["class_name"])
    parameters = {
        "discovery": {**values, "methods_to_analyze": entries},
        "done": done,
        "classes": dict(classes),
        "project_type": project.type,
        "factory_gem": project.factory_gem,
        **extra,
    }
    needed = models and project.factory_gem and has_records(known)
    factories = factory_files(models, project.factories) if needed else ()
    paths = {"source": (source,), "spec": (values["spec_path"],), "factories": factories}
    title = f"{values['class_name']} ({source})"
    return Target(
        id=target_id(slug, waves, wave),
        root=project.root,
        paths=paths,
        title=title,
        document=project.document(slug),
        parameters=parameters,
        wave=wave,
        continued_by=tuple(target_id(slug, waves, number) for number in sorted(waves) if number > wave),
    )


def methods_in(call: Call, document: DocumentRef) -> list[Mapping[str, Any]]:
    """The methods in a document, which a person may have changed; none if there is no document."""
    state, _ = states.state(call.engine.read(), "document", document.key)
    leaves = {at: value for at, value in state.leaves.items() if at.startswith("/methods/")}
    found: list[Mapping[str, Any]] = unflatten(leaves, {"/methods": "name"}).get("methods") or []
    return found


def has_records(methods: Iterable[Mapping[str, Any]]) -> bool:
    """Whether these methods may be set up by a record: the analysis does not say what else they need."""
    setups = [one["setup"] for method in methods for one in method.get("characteristics") or () if one.get("setup")]
    return not setups or any(one.get("type") == "model" for one in setups)


def target_id(slug: str, waves: Iterable[int], wave: int) -> str:
    """The id of a document's target: its slug in its first wave, and with a number in later ones."""
    number = sorted(waves).index(wave)
    return f"{slug}@{number}" if number else slug


def slug_in(target: str) -> str:
    """The slug in the id of a target."""
    return target.partition("@")[0]


def _reached(entry: Mapping[str, Any], reached: set[str]) -> dict[str, Any]:
    if not entry["selected"] or entry["name"] in reached:
        return dict(entry)
    return {**entry, "selected": False, "skip_reason": LATER}
