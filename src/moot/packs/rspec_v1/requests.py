"""What a caller asks for: a source and a method, or the target of a file that an earlier run has made."""

from __future__ import annotations

import os

from moot.core import flat_json
from moot.core.deciders.document import key
from moot.core.errors import MootError, Refused, Unknown, Usage
from moot.core.record import Record
from moot.packs.rspec_v1 import places
from moot.packs.rspec_v1.locating import MIRROR, PACK, all_documents, documents_at, locate
from moot.runs.contract import DocumentRef, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.core.deciders.document import Document
    from moot.packs.rspec_v1.locating import Location

_FACTORIES = ("spec/factories/", "test/factories/")


class Request(Record):
    """One target of the pipeline, and where its files are."""

    location: Location
    target: Target

    @property
    def key(self) -> str:
        assert self.target.document is not None, "every target of this pack has a document"
        return self.target.document.key


def request_for(call: Call, path: str, method: str, class_name: str | None = None, level: str | None = None) -> Request:
    """The request for a method of a source. Its class is looked up, if the source can be read."""
    location = locate(call, path)
    asked = _found(location, method, class_name)
    parameters = {**asked, **({"level": level} if level else {})}
    return _request(call, location, parameters)


def _found(location: Location, method: str, class_name: str | None) -> dict[str, Any]:
    """Class, method and method type. What cannot be found is left as it was asked for; the analyzer says why."""
    from moot.packs.ruby.declarations import declarations
    from moot.packs.ruby.regular_files import NotRegular, read_regular
    from moot.packs.ruby.syntax import parse
    from moot.packs.ruby.targets import WantedMethod, find_method

    wanted = WantedMethod.read(method)
    try:
        source = parse(read_regular(location.project.absolute, _LARGEST)[0])
        one = find_method(source, declarations(source), method, class_name)
    except NotRegular as error:
        raise Refused(
            "source_unreadable",
            f"{location.project.source} cannot be read: it is not a regular file.",
            "Give a text file with Ruby code.",
            file=location.project.source,
        ) from error
    except (OSError, MootError):
        asked = {"class": class_name or "", "method": wanted.name, "method_type": wanted.kind or ""}
        return {name: value for name, value in asked.items() if value}
    return {"class": one.owner, "method": one.name, "method_type": "instance" if one.kind == "instance" else "class"}


_LARGEST = 16 << 20


def request_at(call: Call, path: str) -> Request:
    """The request for the target that a spec, a source or a metadata file belongs to."""
    document = _document_of(call, path)
    if document is None:
        raise Unknown(
            "no_target",
            f"No pipeline has run for {path[:200]}.",
            "Run `moot rspec-v1 analyzer SOURCE METHOD` first.",
            path=path[:200],
        )
    found = flat_json.unflatten(document.leaves, {}).get("target")
    target: dict[str, Any] = found if isinstance(found, dict) else {}
    run = _last_run(call, document.id)
    asked = {name: target[name] for name in ("class", "method", "method_type") if target.get(name)}
    parameters = dict(run.parameters) if run is not None else asked  # an edit of the document makes no other target
    source = str(run.paths["source"][0] if run is not None else target.get("file", ""))
    root = run.root if run is not None else places.find_root(os.path.join(call.cwd, path)) or call.place.root
    return _request(call, locate(call, os.path.join(root, source)), parameters)


def has_document(call: Call, path: str) -> bool:
    return _document_of(call, path) is not None


def _document_of(call: Call, path: str) -> Document | None:
    whole = os.path.normpath(os.path.join(call.cwd, path))
    if whole.endswith(".yml"):
        root = places.find_root(whole)
        names = [whole] + ([os.path.relpath(whole, root)] if root is not None else [])
        found = [one for name in names for one in documents_at(call, name)]
        return found[0] if found else None
    if not whole.endswith(".rb"):
        raise Usage(
            "not_ruby", f"Not a Ruby file or a metadata file: {path[:200]}", "Give a spec, a source or a metadata file."
        )
    if whole.endswith("_spec.rb"):
        return _document_of_spec(call, whole)
    location = locate(call, whole, quiet=True)
    mine = documents_at(call, location.document)
    if location.project.repository:  # outside, sources of several projects have the same relative path
        mine += [one for one in all_documents(call) if one.leaves.get("/target/file") == location.project.source]
    return max(mine, key=lambda one: one.shown, default=None)


def _document_of_spec(call: Call, whole: str) -> Document | None:
    root = places.find_root(whole)
    if root is None:
        return _document_of_run(call, os.path.realpath(whole))
    spec = os.path.relpath(os.path.realpath(whole), os.path.realpath(root))
    found = []
    for one in all_documents(call):
        file = one.leaves.get("/target/file")
        if one.leaves.get("/automation/skeleton_file") == spec or (
            isinstance(file, str) and places.spec_of(file) == spec
        ):
            found.append(one)
    return max(found, key=lambda one: one.shown, default=None)


def _document_of_run(call: Call, spec: str) -> Document | None:
    """The document of the newest run with this spec file, which is in no repository."""
    for one in sorted(all_documents(call), key=lambda one: -one.shown):
        run = _last_run(call, one.id)
        if run is not None and any(
            os.path.realpath(os.path.join(run.root, name)) == spec for name in run.paths["spec"]
        ):
            return one
    return None


def _last_run(call: Call, document: str) -> Any:
    from moot.views import queries

    runs = [run for run in queries.things(call.engine.read(), "run", 1000, ended=True) if run.document == document]
    return max(runs, key=lambda run: run.at, default=None) if runs else None


def _request(call: Call, location: Location, parameters: dict[str, Any]) -> Request:
    project = location.project
    identity = label_of(parameters)
    worktree = call.place.worktree
    mark = places.digest_of(f"{project.named}: {identity}")
    subject = f"{location.stem}.{mark}"
    factories = next((one for one in _FACTORIES if os.path.isdir(os.path.join(project.root, one))), _FACTORIES[0])
    ref = DocumentRef(
        key=key(PACK, worktree, f"metadata.{subject}"),
        mirror=MIRROR,
        worktree=worktree,
        subject=subject,
        path=location.document,
    )
    target = Target(
        id=f"{PACK}:{worktree}:{project.named}:{identity}",
        title=f"{project.source} {identity}",
        root=project.root,
        document=ref,
        parameters=parameters,
        paths={
            "source": (project.source,),
            "spec": (location.spec,),
            "factories": (factories,),
            "report": (location.report,),
        },
        folders=location.folders,
    )
    return Request(location=location, target=target)


def label_of(parameters: dict[str, Any]) -> str:
    """`Billing::Payment#pay`, as far as it is known."""
    sign = {"instance": "#", "class": "."}.get(str(parameters.get("method_type")), " ")
    return f"{parameters.get('class', '')}{sign}{parameters.get('method', '')}".strip()
