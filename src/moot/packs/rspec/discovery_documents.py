"""What discovery writes: one document for each source, with the methods to analyse, and nothing that is debug-only."""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.packs.rspec.slugs import slug_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class DocumentPart(Record):
    """Discovery's part of a document. `waves`: the names of the selected methods of each wave that has some."""

    slug: str
    values: Mapping[str, Any]
    waves: Mapping[int, tuple[str, ...]]

    def plain(self) -> dict[str, Any]:
        waves = {str(number): list(names) for number, names in self.waves.items()}
        return {"slug": self.slug, "values": dict(self.values), "waves": waves}


def part_of(plain: Mapping[str, Any]) -> DocumentPart:
    """A part from the record of a run."""
    waves = {int(number): tuple(names) for number, names in plain["waves"].items()}
    return DocumentPart(plain["slug"], plain["values"], waves)


def documents(answer: Mapping[str, Any]) -> list[DocumentPart]:
    """The documents of an answer. A source without a selected method gets none."""
    items: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for wave in answer["method_waves"]:
        for item in wave["items"]:
            items.setdefault(item["source_file"], []).append((wave["wave"], item))
    found: dict[str, DocumentPart] = {}
    for file in answer["files"]:
        own = sorted(items[file["path"]], key=lambda one: one[1]["line_range"])
        waves: dict[int, tuple[str, ...]] = {}
        for number, item in sorted(own, key=lambda one: one[0]):
            if item["selected"]:
                waves[number] = (*waves.get(number, ()), item["method_name"])
        if not waves:
            continue
        slug = slug_of(file["path"])
        if slug in found:
            raise other_source(slug, found[slug].values["source_file"], file["path"])
        found[slug] = DocumentPart(slug, _values(file, [item for _, item in own]), waves)
    return [*found.values()]


def other_source(slug: str, first: str, second: str) -> Refused:
    """The error for two sources with one slug."""
    return Refused(
        "document_of_another_source",
        f"The document {slug} is about {first}, and its name belongs to {second}, too.",
        f"Cover only one of them; to cover {second}, delete the document of {first} first.",
        files=[first, second],
    )


def _values(file: Mapping[str, Any], items: list[Mapping[str, Any]]) -> dict[str, Any]:
    entries = [
        {
            "name": item["method_name"],
            "method_mode": item["method_mode"],
            "line_range": list(item["line_range"]),
            "selected": item["selected"],
            **({} if item["selected"] else {"skip_reason": item["skip_reason"]}),
        }
        for item in items
    ]
    keys = ("class_name", "complexity", "spec_path")
    return {"source_file": file["path"], **{key: file[key] for key in keys}, "methods_to_analyze": entries}
