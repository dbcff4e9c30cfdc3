"""Checks the files that moot only reads: the configuration, and the plans.

For `moot pack check`, `moot gsd check` and `moot doctor`. Changes nothing.
"""

from __future__ import annotations

from moot.api.protocol.pack_files import BadFile
from moot.packs.gsd import handlers, plans
from moot.packs.gsd.handlers import PACK
from moot.packs.gsd.ids import plan_of
from moot.packs.gsd.sources import plan_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.api.protocol.pack_files import FileProblem, PackFiles

CONFIG = ".planning/config.json"


def check(call: Call, files: PackFiles) -> Iterator[FileProblem]:
    registered = call.settings.pack_settings.get(PACK, {}).get("handlers", {})
    for root in files.roots:
        try:
            content = files.json(root, CONFIG)
        except BadFile:
            content = None  # the check of the file itself reports it
        for problem in handlers.read({} if content is None else content, registered)[1]:
            yield files.problem(root, CONFIG, problem, remedy="Correct it. Until then the other handlers run.")
        yield from _check_plans(files, root)


def _check_plans(files: PackFiles, root: str) -> Iterator[FileProblem]:
    known: dict[str, str] = {}
    for name, path in plan_paths(root, plans.PLAN):
        if name in known:
            said = f"{known[name]} is the file of plan {name}, so this one is not read"
            yield files.problem(root, path, said, remedy="Rename one of them.")
            continue
        known[name] = path
        plan = plan_of(name)
        assert plan is not None, "`plan_paths` yields names of plans"
        try:
            data = files.read(root, path)
        except BadFile:
            continue
        found = plans.read(data or b"", plan)
        remedy = "Correct it. Until then the plan is blocked." if found.unreadable else "Correct it."
        for problem in found.problems:
            yield files.problem(root, path, problem, remedy=remedy)
