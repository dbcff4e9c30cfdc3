"""Discovery: from changed sources to the answer of discovery-agent, with methods in waves and a proposed selection.

Pure. The answer has the keys of the protocol; `Plan` adds what the protocol does not have: warnings and the base.
"""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.record import Record
from moot.core.text import counted
from moot.packs.rspec.changes import FILE
from moot.packs.rspec.discovery_methods import UNCHANGED, classes_used, examine
from moot.packs.rspec.slugs import matches_file
from moot.packs.rspec.sources import spec_path
from moot.packs.rspec.waves import WaitingMethod, wave_name, waves_of
from moot.packs.rspec.zones import GREEN, RED, ZONES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.packs.rspec.changes import Changes
    from moot.packs.rspec.discovery_methods import ExaminedFile, PublicMethod

SUCCESS, STOP, ERROR = "success", "stop", "error"
RED_ZONE, CANCELLED = "red_zone_new_code", "user_cancelled"
NOT_PROPOSED = "Unchanged"
NOTHING_TESTABLE = "No testable methods found"


class Plan(Record):
    """The answer of discovery-agent, warnings about it, the commit it was compared with, and the mode."""

    answer: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    base: str = ""
    mode: str = ""

    @property
    def stopped(self) -> bool:
        return bool(self.answer["status"] == STOP)


def discover(changes: Changes) -> Plan:
    if not changes.sources:
        raise Refused(
            "no_testable_files",
            "No testable Ruby files found",
            "Change a .rb file that is not a spec and not below db/migrate, config, bin, script or vendor. "
            "Or name one: `moot rspec cover FILE`.",
        )
    files, left_out = _examined(changes)
    warnings = [*changes.warnings, *left_out, *(warning for file in files for warning in file.warnings)]
    for file in files:
        if file.complexity.zone == RED and file.all_new:
            return Plan(answer=_red_zone(file), warnings=tuple(warnings), base=changes.base, mode=changes.mode)
        if file.complexity.zone != GREEN:
            warnings.append(f"{_described(file)}: consider splitting it.")
    testable = _with_unique_ids([file for file in files if file.methods])
    if not testable:
        raise _no_methods(files)
    warnings += [f"{file.path}: {NOTHING_TESTABLE}." for file in files if not file.methods]
    answer, cuts = _answer(testable, [name for file in files for name in file.classes], everything=changes.mode == FILE)
    return Plan(answer=answer, warnings=(*warnings, *cuts), base=changes.base, mode=changes.mode)


def _examined(changes: Changes) -> tuple[list[ExaminedFile], list[str]]:
    """The sources, and warnings about those that are left out because they cannot be parsed. One alone is refused."""
    files: list[ExaminedFile] = []
    left_out: list[str] = []
    first: Refused | None = None
    for source in changes.sources:
        try:
            files.append(_of_one_class(examine(source)))
        except Refused as problem:
            if len(changes.sources) == 1:
                raise
            where = "" if source.path in problem.message else f"{source.path}: "
            left_out.append(f"{where}{problem.message} The file was left out.")
            first = first or problem
    if first is not None and not files:
        raise first
    return files, left_out


def _of_one_class(file: ExaminedFile) -> ExaminedFile:
    """The file with the methods of one class: the one with the name of the file, else the first."""
    classes = list(dict.fromkeys(method.class_name for method in file.methods))
    if len(classes) < 2:
        return file
    main = next((name for name in classes if matches_file(file.path, name)), classes[0])
    others = ", ".join(name for name in classes if name != main)
    warning = f"{file.path}: only {main} is covered; the file also has {others}."
    methods = tuple(method for method in file.methods if method.class_name == main)
    return file.replace(methods=methods, warnings=(*file.warnings, warning))


def _described(file: ExaminedFile) -> str:
    size = file.complexity
    return f"{file.path} is in the {size.zone} zone ({size.loc} lines of code, {counted(size.methods, 'method')})"


def _red_zone(file: ExaminedFile) -> dict[str, Any]:
    message = (
        f"{_described(file)}, and all of it is new. Split it into smaller classes before it is covered with tests."
    )
    return {"status": STOP, "reason": RED_ZONE, "message": message}


def _no_methods(files: Sequence[ExaminedFile]) -> Refused:
    none = f"None of the {len(files)} files has public methods"
    details = f"{files[0].path}: File has no public methods" if len(files) == 1 else none
    return Refused(
        "no_testable_methods",
        f"Cannot determine testable methods\n{details}",
        "Check if the class is meant to be tested.",
        details=details,
    )


def _with_unique_ids(files: Sequence[ExaminedFile]) -> list[ExaminedFile]:
    """The same files. A method whose class is opened in two files has its path in the second id."""
    seen: set[str] = set()
    found = []
    for file in files:
        methods = [m.replace(id=f"{m.id} ({m.path})") if m.id in seen else m for m in file.methods]
        seen.update(method.id for method in methods)
        found.append(file.replace(methods=tuple(methods)))
    return found


def _answer(
    files: Sequence[ExaminedFile], classes: Sequence[str], *, everything: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    methods = {method.id: method for file in files for method in file.methods}
    used = {name: classes_used(method, classes) for name, method in methods.items()}
    found = waves_of(
        [
            WaitingMethod(method_id=name, class_name=one.class_name, needs=used[name], order=(one.path, one.first))
            for name, one in methods.items()
        ]
    )
    numbers = {one.method_id: number for number, wave in enumerate(found.waves) for one in wave}
    chosen = {name: everything or method.mode != UNCHANGED for name, method in methods.items()}
    waves = [
        {
            "wave": number,
            "name": wave_name(number),
            "items": [
                _item(methods[one.method_id], used[one.method_id], selected=chosen[one.method_id]) for one in wave
            ],
        }
        for number, wave in enumerate(found.waves)
    ]
    listed = [_entry(file, numbers, chosen) for file in files]
    order = [one.method_id for wave in found.waves for one in wave]
    graph = {"nodes": order, "edges": [{"from": name, "to": target} for name in order for target in used[name]]}
    answer = {
        "status": SUCCESS,
        "method_waves": waves,
        "files": listed,
        "dependency_graph": graph,
        "summary": summary(waves, listed),
    }
    return answer, found.warnings


def _item(method: PublicMethod, used: Sequence[str], *, selected: bool) -> dict[str, Any]:
    item: dict[str, Any] = {
        "method_id": method.id,
        "class_name": method.class_name,
        "method_name": method.label,
        "source_file": method.path,
        "line_range": [method.first, method.last],
        "method_mode": method.mode,
        "selected": selected,
    }
    if not selected:
        item["skip_reason"] = NOT_PROPOSED
    return {
        **item,
        "cross_class_deps": [{"class": name} for name in used],
        "absorbed_private_methods": list(method.absorbed),
    }


def _entry(file: ExaminedFile, numbers: Mapping[str, int], chosen: Mapping[str, bool]) -> dict[str, Any]:
    methods = [
        {"name": one.label, "method_mode": one.mode, "wave": numbers[one.id], "selected": chosen[one.id]}
        for one in file.methods
    ]
    return {
        "path": file.path,
        "class_name": file.methods[0].class_name,
        "complexity": file.complexity.full(),
        "spec_path": spec_path(file.path),
        "public_methods": methods,
    }


def summary(waves: Sequence[Mapping[str, Any]], files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The numbers of an answer, counted from its lists."""
    items = [item for wave in waves for item in wave["items"]]
    zones = [file["complexity"]["zone"] for file in files]
    return {
        "total_methods": len(items),
        "selected_methods": sum(item["selected"] for item in items),
        "total_files": len(files),
        "waves_count": len(waves),
        "by_zone": {zone: zones.count(zone) for zone in ZONES},
    }
