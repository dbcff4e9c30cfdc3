"""From discovery's documents to the targets of the pipeline: one for each document and wave."""

from __future__ import annotations

import os

from moot.core.deciders.document import key
from moot.core.record import Record
from moot.packs.rspec import isolation
from moot.packs.rspec.factory_checks import GEMS
from moot.packs.rspec.reviewing import command
from moot.runs.contract import DocumentRef, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.packs.rspec.discovery_documents import DocumentPart

MIRROR = "rspec/metadata"
FACTORIES = "spec/factories"
_LARGEST = 1 << 20


class RspecProject(Record):
    """What the targets need to know of a project. `factories`: whether there may be some."""

    root: str
    worktree: str
    type: str
    factories: bool
    folder: str = "tmp"

    def document(self, slug: str) -> DocumentRef:
        path = f"{self.folder}/rspec_metadata/{slug}.yml"
        return DocumentRef(key("rspec", self.worktree, f"metadata.{slug}"), MIRROR, self.worktree, slug, path)


def project_of(call: Call, settings: Mapping[str, Any]) -> RspecProject:
    """Look at the project in the caller's worktree."""
    from moot.place import MAIN, worktrees

    root = os.path.realpath(call.place.root)
    tree = next((one.name for one in worktrees(call.place) if os.path.realpath(one.root) == root), MAIN)
    gems = isolation.gems_of(_text(root, "Gemfile"), _text(root, "Gemfile.lock"))
    return RspecProject(
        root=root,
        worktree=tree,
        type=isolation.project_type(sorted(os.listdir(root)), gems, settings.get("project_type", "auto")),
        factories=not GEMS.isdisjoint(gems) or os.path.isdir(os.path.join(root, FACTORIES)),
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


def helper_of(root: str) -> str:
    """The helper that a new spec file requires; none if `.rspec` already does."""
    options = _text(root, ".rspec")
    for name in ("rails_helper", "spec_helper"):
        if os.path.isfile(os.path.join(root, "spec", f"{name}.rb")):
            return "" if name in options else name
    return ""


def target_of(project: RspecProject, part: DocumentPart, wave: int, extra: Mapping[str, Any]) -> Target:
    """The target of a document in a wave. It covers the methods of this wave, beside those of earlier ones."""
    values = part.values
    parameters = {
        "discovery": dict(values),
        "now": list(part.waves[wave]),
        "done": sorted(name for number, names in part.waves.items() if number < wave for name in names),
        "project_type": project.type,
        "factories": project.factories,
        **extra,
    }
    return Target(
        id=target_id(part.slug, part.waves, wave),
        root=project.root,
        paths={
            "source": (values["source_file"],),
            "spec": (values["spec_path"],),
            "factories": (f"{FACTORIES}/",) if project.factories else (),
        },
        title=f"{values['class_name']} ({values['source_file']})",
        document=project.document(part.slug),
        parameters=parameters,
        wave=wave,
    )


def target_id(slug: str, waves: Iterable[int], wave: int) -> str:
    """The id of a document's target: its slug in its first wave, and with a number in later ones."""
    number = sorted(waves).index(wave)
    return f"{slug}@{number}" if number else slug


def slug_in(target: str) -> str:
    """The slug in the id of a target."""
    return target.partition("@")[0]
