"""Finds packs and parses them; the parsed form is cached by the signature of their files.

shipped     below `moot/packs`
installed   by an entry point in the group `moot.packs`: a subclass of `Protocol`, or a module for a pack of data
alone. Its `pack.toml` is in the folder of that module.
a folder    of the repository: `[pack.NAME] path = "…"` in moot.toml. Data only; nothing in it is imported
"""

from __future__ import annotations

import os
import sys
import time

from moot.api.protocol import PARTS, Packs, Protocol
from moot.api.protocol.loading import check_for_clashes, pack_of
from moot.core.errors import Usage
from moot.core.record import Record
from moot.place import caches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.protocol import Pack
    from moot.place import Place
    from moot.place.settings import Settings

GROUP = "moot.packs"
SHIPPED = {
    "gsd": "moot.packs.gsd.protocol:Gsd",
    "orchestrator": "moot.packs.orchestrator.protocol:Orchestrator",
    "specflow": "moot.packs.specflow.protocol:Specflow",
    "rspec": "moot.packs.rspec.protocol:RspecProtocol",
    "rspec-v1": "moot.packs.rspec_v1.protocol:RspecV1",
}
_PACKS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "packs")
_LARGEST = 1 << 20


class Source(Record):
    """The location of a pack: its folder, its code as "module:attribute", and the root of a folder pack."""

    folder: str
    code: str = ""
    root: str = ""
    said: str = ""  # the name of the folder in errors


def load(settings: Settings, place: Place, *, keep: bool) -> Packs:
    """The active packs, each with its settings."""
    found = {name: pack(name, place.state, settings, place, keep=keep) for name in settings.packs}
    for name, table in settings.pack_settings.items():
        if any(key != "path" for key in table):
            from moot.api.protocol.settings import settings_of
            from moot.place.settings import source

            found[name] = found[name].replace(values=settings_of(found[name], table, source(place)))
    found = {name: _laid_out(one, place.main_root or place.root) for name, one in found.items()}
    if len(found) > 1:
        check_for_clashes(found.values())

    def read(pack: Pack, file: str) -> bytes:
        path = settings.pack_settings.get(pack.name, {}).get("path")
        return _content(_source(pack.name, path, place), place, file)

    return Packs(tuple(found.values()), protocol, read)


def _laid_out(pack: Pack, root: str) -> Pack:
    """The pack with the paths of the layout that the project has: of two, the one whose first file has entries."""
    twofold = [mirror for mirror in pack.mirrors if mirror.flat]
    if not any(os.path.lexists(os.path.join(root, mirror.flat)) for mirror in twofold):
        return pack
    first = twofold[0]
    usual = any(os.path.lexists(os.path.join(root, mirror.path)) for mirror in twofold)
    if usual and (_has_entries(root, first.path) or not _has_entries(root, first.flat)):
        return pack
    mirrors = (one.replace(path=one.flat, flat=one.path) if one.flat else one for one in pack.mirrors)
    return pack.replace(mirrors=tuple(mirrors))


def _has_entries(root: str, path: str) -> bool:
    """Whether a JSON file has a list that is not empty."""
    import json

    from moot.place.gitdir import read

    try:
        content = json.loads(read(os.path.join(root, path), 1 << 28))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and any(isinstance(value, list) and value for value in content.values())


def protocol(pack: Pack) -> Protocol:
    """The code of a pack; the default `Protocol` if it has none."""
    if not pack.code:
        return Protocol(pack, pack.values)
    made: Protocol = _attribute(pack.code)(pack, pack.values)
    return made


def pack(
    name: str, state: str, settings: Settings | None = None, place: Place | None = None, *, keep: bool = True
) -> Pack:
    """A pack, from the cache if its files are unchanged."""
    cache = f"pack-{name}.json"
    kept = caches.recall_parsed(state, cache)
    path = (settings.pack_settings.get(name, {}) if settings else {}).get("path")
    try:
        source = Source(**kept["source"])
        if kept["path"] == path and kept["signature"] == _signature(source, kept, name):
            return _made(kept, source)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # no cache, or from another version: parse
    source = _source(name, path, place)
    parsed = _parsed(name, source, place)
    if keep and not _is_young(source, parsed):
        signature = _signature(source, parsed, name)
        caches.keep_parsed(state, cache, {**parsed, "path": path, "signature": signature})
    return _made(parsed, source)


def installed() -> dict[str, str]:
    """The packs that installed packages provide, as "module:attribute" by name."""
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=GROUP)}


def known() -> list[str]:
    """The packs that can be activated without a folder."""
    return sorted({*SHIPPED, *installed()})


def verbs(name: str) -> Mapping[str, str]:
    """The verbs that a shipped or installed pack brings, as "module:attribute" by word. Empty if it has none."""
    code = SHIPPED.get(name) or installed().get(name, "")
    return _class(name, code).verbs if ":" in code else {}


def code_of(name: str) -> type[Protocol]:
    """The code of a shipped pack."""
    return _class(name, SHIPPED[name])


def _made(kept: Mapping[str, Any], source: Source) -> Pack:
    about = {"digest": kept["digest"], "parts": tuple(kept["parts"]), "forms": kept["forms"]}
    about |= {"folder": source.said if source.root else ""}
    found = pack_of(kept["pack"], kept["schemas"])
    return found.replace(code=source.code if kept["parts"] else "", **about)


def _source(name: str, path: object, place: Place | None) -> Source:
    if path is not None:
        return _folder(name, path, place)
    if name in SHIPPED:
        return Source(folder=_shipped_folder(name), code=SHIPPED[name], said=f"The pack {name}")
    code = installed().get(name)
    if code is None:
        raise Usage(
            "unknown_pack",
            f"moot.toml names the pack {name!r}, which is not installed.",
            f'Known: {", ".join(known())}. For a folder of this repository: [pack.{name}] path = "…".',
            pack=name,
        )
    from importlib.util import find_spec

    try:
        spec = find_spec(code.partition(":")[0])
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise _broken(name, code, "its module cannot be found")
    folder = os.path.dirname(spec.origin)
    return Source(folder=folder, code=code, said=f"The pack {name} ({folder})")


def _shipped_folder(name: str) -> str:
    return os.path.join(_PACKS, name.replace("-", "_"))


def _folder(name: str, path: object, place: Place | None) -> Source:
    from moot.place.settings import source

    settings = source(place) if place is not None else None
    assert settings is not None, "a path comes from moot.toml"
    root = os.path.dirname(settings)
    if not isinstance(path, str) or not path or os.path.isabs(path) or name in SHIPPED:
        why = "moot ships a pack of this name" if name in SHIPPED else "it is not a relative path"
        raise _outside(settings, name, why)
    folder = os.path.realpath(os.path.join(root, path))
    if not _below(folder, os.path.realpath(root)):
        raise _outside(settings, name, "it leads out of the repository")
    return Source(folder=folder, root=os.path.realpath(root), said=path)


def _outside(settings: str, name: str, why: str) -> Usage:
    from moot.api.protocol.settings import bad_settings

    return bad_settings(settings, ("pack", name, "path"), [f"pack.{name}.path cannot be used: {why}"])


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _parsed(name: str, source: Source, place: Place | None) -> dict[str, Any]:
    """Parse the files of a pack. Raises an error that lists all defects."""
    from moot.api.protocol.checking import parse
    from moot.mirrors.forms import forms

    code = _class(name, source.code) if ":" in source.code else None
    parts = [part for part in PARTS if code is not None and getattr(code, part) is not getattr(Protocol, part)]
    below = f".{name}/" if source.root else ""
    found = parse(
        source.said,
        lambda file: _content(source, place, file),
        name=name,
        forms=forms(code),
        below=below,
        coded="hear" in parts,
    )
    return {
        "pack": found.data,
        "schemas": found.schemas,
        "digest": found.digest,
        "parts": parts,
        "forms": _names_of(code.forms) if code is not None else {},
        "source": source.plain(),
    }


def _class(name: str, code: str) -> type[Protocol]:
    found = _attribute(code)
    if not (isinstance(found, type) and issubclass(found, Protocol)):
        raise _broken(name, code, "it is not a subclass of moot.api.protocol.Protocol")
    return found


def _names_of(forms: Mapping[str, Any]) -> dict[str, str]:
    """Forms as "module:attribute"; none if one of them cannot be named, because it is inside a function or a class."""
    found = {
        name: form if isinstance(form, str) else f"{form.__module__}:{form.__qualname__}"
        for name, form in forms.items()
    }
    return {} if any("." in at.partition(":")[2] for at in found.values()) else found


def _content(source: Source, place: Place | None, file: str) -> bytes:
    """A file of a pack. In a folder of the repository, no link leads out of it, and its owner is trusted."""
    from moot.place.gitdir import read
    from moot.place.trust import check_author

    path = os.path.join(source.folder, file)
    if source.root and not _below(os.path.realpath(path), source.folder):
        raise OSError(0, "it is a link that points out of the folder", path)
    owner = (lambda uid: check_author(place, path, uid)) if source.root and place is not None else None
    found = read(path, _LARGEST, owner)
    if len(found) > _LARGEST:
        raise OSError(0, "it is larger than 1 MiB", path)
    return found


def _attribute(code: str) -> Any:
    module, _, attribute = code.partition(":")
    try:
        return getattr(__import__(module, fromlist=[attribute]), attribute)
    except (ImportError, AttributeError) as error:
        raise _broken(code, code, str(error)) from error


def _broken(name: str, code: str, why: str) -> Usage:
    return Usage(
        "pack_unusable",
        f"The pack {name} names its code as {code!r}: {why}.",
        "Install it again, or remove it from `packs` in moot.toml.",
        pack=name,
    )


def _files(source: Source, kept: Mapping[str, Any]) -> list[str]:
    briefs = {role["brief"] for role in kept["pack"].get("roles", {}).values() if "brief" in role}
    files = [os.path.join(source.folder, file) for file in ("pack.toml", *sorted({*kept["schemas"], *briefs}))]
    if source.code:
        module = source.code.partition(":")[0].rpartition(".")[2]
        files.append(os.path.join(source.folder, f"{module}.py"))
    return [file for file in files if not file.endswith(".py") or os.path.exists(file)]


def _signature(source: Source, kept: Mapping[str, Any], name: str) -> list[Any]:
    """What the parsed form was made from, and the version of moot that parsed it."""
    version = sys.modules["moot"].__version__  # modules of moot do not import the package root
    found: list[Any] = [version, "" if source.root or name in SHIPPED else sys.prefix, source.folder]
    if name in SHIPPED and source.folder != _shipped_folder(name):
        raise ValueError("another installation of moot wrote it")
    return found + [caches.signature(file) for file in _files(source, kept)]


def _is_young(source: Source, kept: Mapping[str, Any]) -> bool:
    """Whether a file changed so recently that it may change again and keep its signature."""
    if not source.root:
        return False
    return time.time() - max(os.stat(file).st_mtime for file in _files(source, kept)) < caches.YOUNG
