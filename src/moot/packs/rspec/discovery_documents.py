"""What discovery writes: one document for each class, with the methods to analyse, and nothing that is debug-only."""

from __future__ import annotations

from moot.core.record import Record
from moot.packs.rspec.slugs import class_slug, matches_file, unique_slugs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class DocumentPart(Record):
    """Discovery's part of a document. `waves`: the names of the selected methods of each wave that has some."""

    slug: str
    values: Mapping[str, Any]
    waves: Mapping[int, tuple[str, ...]]


def documents(answer: Mapping[str, Any], taken: Iterable[tuple[str, str]] = ()) -> list[DocumentPart]:
    """The documents of an answer. `taken`: slugs of documents that exist, each with its source file.

    A class without a selected method gets no document.
    """
    files = answer["files"]
    slugs = unique_slugs(dict.fromkeys(file["path"] for file in files), taken)
    main = {path: _main_class(path, [f["class_name"] for f in files if f["path"] == path]) for path in slugs}
    items: dict[tuple[str, str], list[tuple[int, Mapping[str, Any]]]] = {}
    for wave in answer["method_waves"]:
        for item in wave["items"]:
            items.setdefault((item["source_file"], item["class_name"]), []).append((wave["wave"], item))
    found = []
    for file in files:
        path, class_name = file["path"], file["class_name"]
        own = sorted(items[path, class_name], key=lambda one: one[1]["line_range"])
        if not any(item["selected"] for _, item in own):
            continue
        slug = slugs[path] if class_name == main[path] else class_slug(slugs[path], class_name)
        found.append(DocumentPart(slug=slug, values=_values(file, [item for _, item in own]), waves=_waves(own)))
    return found


def _main_class(path: str, classes: list[str]) -> str:
    """The class that keeps the slug of its file: the one with the name of the file, else the first."""
    return next((name for name in classes if matches_file(path, name)), classes[0])


def _values(file: Mapping[str, Any], items: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "source_file": file["path"],
        "class_name": file["class_name"],
        "complexity": dict(file["complexity"]),
        "spec_path": file["spec_path"],
        "methods_to_analyze": [_entry(item) for item in items],
    }


def _entry(item: Mapping[str, Any]) -> dict[str, Any]:
    entry = {
        "name": item["method_name"],
        "method_mode": item["method_mode"],
        "line_range": list(item["line_range"]),
        "selected": item["selected"],
    }
    return entry if item["selected"] else {**entry, "skip_reason": item["skip_reason"]}


def _waves(items: list[tuple[int, Mapping[str, Any]]]) -> dict[int, tuple[str, ...]]:
    numbers = sorted({number for number, item in items if item["selected"]})
    return {
        number: tuple(item["method_name"] for at, item in items if at == number and item["selected"])
        for number in numbers
    }
