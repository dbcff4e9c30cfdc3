"""Where the files of one source are in this workspace: its document, its spec and its report.

Decides what the rules of `places` leave open: whether a repository gets a `tmp`, which folder is used without one, and
which of two sources with the same plain name gets it.
"""

from __future__ import annotations

import os

from moot.core.deciders.document import of_file
from moot.core.record import Record
from moot.packs.rspec_v1 import places
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.core.deciders.document import Document
    from moot.packs.rspec_v1.places import Project

PACK, MIRROR = "rspec-v1", "rspec-v1/metadata"
SETTING = "pack.rspec-v1.fallback"
_CHOICES = "choices"  # the list of the pack's feed with what people have chosen
_SYSTEM = "system"


class Location(Record):
    """A source and its files. `document` is relative to the root if it is below it, else absolute."""

    project: Project
    folder: str
    stem: str
    warnings: tuple[str, ...] = ()

    @property
    def document_file(self) -> str:
        return os.path.join(self.folder, places.document_name(self.stem))

    @property
    def report_file(self) -> str:
        return os.path.join(self.folder, places.report_name(self.stem))

    @property
    def document(self) -> str:
        return self._short(self.document_file)

    @property
    def report(self) -> str:
        return self._short(self.report_file)

    @property
    def spec(self) -> str:
        return places.spec_of(self.project.source)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders outside the project that have files of it."""
        return () if self.project.temporary else (self.folder,)

    def _short(self, path: str) -> str:
        return os.path.relpath(path, self.project.root) if self.project.temporary else path


def locate(call: Call, source: str, *, quiet: bool = False) -> Location:
    """The location of a source file. Creates `tmp` if a person wants that; `quiet`: asks and creates nothing."""
    project = places.project_of(source, call.cwd)
    folder, warnings = _folder(call, project, quiet=quiet)
    if folder is None:
        project = project.replace(temporary=True)
        folder = places.folder_of(project)
    found = Location(project=project, folder=folder, stem=places.stem_of(project.named), warnings=warnings)
    if _is_taken(call, found):
        found = found.replace(stem=places.stem_of(project.named, distinct=True))
    return found


# --- the folder ------------------------------------------------------------------------------------------------------


def _folder(call: Call, project: Project, *, quiet: bool) -> tuple[str | None, tuple[str, ...]]:
    """The folder, and warnings; None if the repository has got a `tmp` just now."""
    if project.temporary:
        return places.folder_of(project), ()
    system = _settings(call).get("fallback") or places.SYSTEM
    plain, distinct = (places.folder_of(project, system, distinct=one) for one in (False, True))
    from moot.api.protocol.document_folders import is_prepared, project_folder, shared_folder

    if quiet:
        ours = not project.repository or not os.path.lexists(plain) or is_prepared(plain, project.root)
        return plain if ours else distinct, ()
    setting = f"{SETTING} in {os.path.join(call.place.main_root or call.place.root, 'moot.toml')}"
    if not project.repository:
        return shared_folder(plain, setting), ()
    if _is_created(call, project, plain):
        return None, ()
    found = project_folder(plain, distinct, project.root, setting)
    return found.path, (*_about_tmp(call, project, found.path), *([found.warning] if found.warning else ()))


def _is_created(call: Call, project: Project, plain: str) -> bool:
    """Ask the person at the terminal, once, whether to create `tmp`, and do so."""
    if project.blocked or call.ask is None or _choice(call, project.root) == _SYSTEM:
        return False
    if not call.ask((f"{project.root} has no tmp directory.",), f"Create it? Otherwise {plain} is used."):
        _choose(call, project.root)
        return False
    try:
        os.mkdir(os.path.join(project.root, "tmp"))
    except FileExistsError:
        pass  # somebody else was faster
    except OSError as error:
        call.warn("rspec_folder", f"{os.path.join(project.root, 'tmp')} cannot be created: {error.strerror}.")
        return False
    return True


def _about_tmp(call: Call, project: Project, used: str) -> tuple[str, ...]:
    """The warning that another folder than `tmp` is used, unless a person has chosen that."""
    if project.blocked:
        place = os.path.join(project.root, "tmp")
        return (f"{place} {project.blocked}, so {used} is used; make it a directory that you can write to.",)
    if _choice(call, project.root) == _SYSTEM:
        return ()
    return (f"{project.root} has no tmp directory, so {used} is used; create tmp to keep the files there.",)


def _settings(call: Call) -> dict[str, str]:
    pack = next((one for one in call.packs.packs if one.name == PACK), None)
    return dict(pack.values) if pack is not None else {}


def _choice(call: Call, root: str) -> str:
    from moot.views.feeds import row

    found = row(call.engine.read(), PACK, _CHOICES, root)
    return str(found.get("folder", "")) if isinstance(found, dict) else ""


def _choose(call: Call, root: str) -> None:
    from moot.core.deciders.feed import ListRows

    command = ListRows(list=_CHOICES, puts={root: {"folder": _SYSTEM}})
    call.commit_aside(lambda work: work.do("feed", PACK, command, pack=PACK))


# --- names -----------------------------------------------------------------------------------------------------------


def documents_at(call: Call, path: str) -> list[Document]:
    """The documents whose file is at this path, the one that it shows first."""
    store = call.engine.read()
    names = [name for kind, name in queries.things_of_task(store, of_file(path) or "") if kind == "document"]
    found = [one for one in (states.state(store, "document", name)[0] for name in names) if _is_ours(call, one)]
    return sorted(found, key=lambda one: -one.shown)


def all_documents(call: Call) -> Iterator[Document]:
    """The metadata documents of this worktree."""
    for one in queries.things(call.engine.read(), "document", 1 << 30):
        if _is_ours(call, one):
            yield one


def _is_ours(call: Call, one: Document) -> bool:
    return one.mirror == MIRROR and one.worktree == call.place.worktree


def _is_taken(call: Call, found: Location) -> bool:
    """Whether the plain name belongs to another source: by the log, else by the file that is there."""
    known = {
        str(one.leaves["/target/file"]) for one in documents_at(call, found.document) if "/target/file" in one.leaves
    }
    if known:
        return _source_name(found) not in known
    target = (read_document(found.document_file) or {}).get("target")
    file = target.get("file") if isinstance(target, dict) else None
    return isinstance(file, str) and file != _source_name(found)


def _source_name(found: Location) -> str:
    return found.project.source


def read_document(path: str) -> dict[str, object] | None:
    """The document in a file; None if there is none, or it cannot be read."""
    from moot.core import strict_yaml
    from moot.packs.ruby.regular_files import read_regular

    try:
        return strict_yaml.load_mapping(read_regular(path, strict_yaml.LARGEST + 1)[0])
    except (OSError, strict_yaml.TornYaml):
        return None
