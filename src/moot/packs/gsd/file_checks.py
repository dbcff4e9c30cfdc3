"""Checks the files that moot only reads: the configuration, the custom handlers it names, and the plans.

For `moot pack check`, `moot gsd check` and `moot doctor`. Changes nothing.
"""

from __future__ import annotations

from moot.api.protocol.pack_files import BadFile
from moot.core.record import Record
from moot.core.text import REASON, command_line, one_line
from moot.packs.gsd import handlers, plans
from moot.packs.gsd.effects import DEEPEST, FOLDER, STREAM, registered_in, resolved, root_of
from moot.packs.gsd.handlers import PACK, HandlerTable
from moot.packs.gsd.ids import plan_of
from moot.packs.gsd.plan_needs import circles
from moot.packs.gsd.sources import plan_paths
from moot.views import effects as view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.api.protocol.pack_files import FileProblem, PackFiles

CONFIG = ".planning/config.json"
_PLACED = "line "  # the beginning of a problem with a position
_LONGEST = 200  # of a reason
_CORRECT = "Correct it. Until then the rest of the file counts."


def check(call: Call, files: PackFiles) -> Iterator[FileProblem]:
    yield from _check_config(call, files)
    yield from _check_registered(call, files)
    yield from _check_plans(files)
    for root in files.roots:
        yield from _check_names(files, root)


def _check_config(call: Call, files: PackFiles) -> Iterator[FileProblem]:
    """The file that counts: that of the first worktree that has one."""
    root = next((root for root in files.roots if _exists(files, root, CONFIG)), None)
    if root is None:
        return
    try:
        content = files.json(root, CONFIG)
    except BadFile:
        return  # the check of the file itself reports it
    for _, place, text in handlers.defects(content):
        yield files.problem(root, CONFIG, text, place=place, remedy="Correct it. Until then the rest of the list runs.")
    table = handlers.read(content, lambda place: place)
    for kind in table.lists:
        yield from _check_custom(call, files, root, kind, table)
    yield from _check_chains(call, files, root)
    for kind, name in table.out_of_order:
        said = f"builtin:{name} runs in the commit of the event, so before the custom handlers in front of it"
        yield files.problem(root, CONFIG, said, place=_list(kind)).replace(
            note=True, remedy="Put it first in the list."
        )
    for kind, name in table.switched_off:
        note = files.problem(root, CONFIG, f"builtin:{name} is switched off for {kind}", place=_list(kind))
        yield note.replace(note=True, remedy=f'Add "builtin:{name}" to the list to switch it on.')


def _check_custom(call: Call, files: PackFiles, root: str, kind: str, table: HandlerTable) -> Iterator[FileProblem]:
    for name in table.custom(kind):
        found = resolved(name, root_of(call), registered_in(call.settings))
        if isinstance(found, str) and name not in registered_in(call.settings):
            remedy = f"Create the executable in {FOLDER}/, or register it: [pack.{PACK}.handlers.{name}] in moot.toml."
            yield files.problem(root, CONFIG, found, place=_list(kind), remedy=remedy)


def _check_registered(call: Call, files: PackFiles) -> Iterator[FileProblem]:
    for handler in registered_in(call.settings).values():
        for one in handler.get("wrong", ()):
            found = files.problem(
                files.roots[0], "moot.toml", one["text"], remedy="Correct it. Until then it cannot run."
            )
            yield found.replace(line=one["line"], column=1)


def _check_chains(call: Call, files: PackFiles, root: str) -> Iterator[FileProblem]:
    """Handlers that were stopped because they seem to answer themselves."""
    for effect in view.effects(call.engine.read(), None, "parked"):
        if effect.depth > DEEPEST and not effect.attempt and effect.stream == STREAM:
            name = effect.handler.partition("/")[2]
            retry = command_line("effects retry", effect.id)
            yield files.problem(
                root,
                CONFIG,
                f"custom:{name} was stopped: {one_line(effect.reason, _LONGEST)}",
                place=_list(effect.on),
                remedy=f"Change it so that it does not answer its own event. `{retry}` runs it for this one event, "
                f"`{command_line('effects drop', effect.id, options=REASON)}` drops it.",
            )


def _list(kind: str) -> str:
    from moot.core.schema.phrases import pointed

    return pointed((handlers.KEY, kind))


def _exists(files: PackFiles, root: str, path: str) -> bool:
    try:
        return files.read(root, path) is not None
    except BadFile:
        return True


class _PlanOnDisk(Record):
    """A plan file as it is now, which the log may not have read yet."""

    root: str
    path: str
    said: plans.PlanFile


def _check_plans(files: PackFiles) -> Iterator[FileProblem]:
    found = {name: _read(files, root, path, name) for name, path, root in _plan_files(files)}
    known = {name: one for name, one in found.items() if one is not None}
    done = {plan for root in files.roots for plan, _ in plan_paths(root, plans.SUMMARY)}
    for one in known.values():
        for problem in one.said.problems:
            yield _placed(files.problem(one.root, one.path, problem, remedy=_CORRECT))
        for before in one.said.depends_on:
            if before not in known and before not in done:
                said, remedy = f"depends_on: there is no plan {before}", f"Write its file, or remove {before} here."
                yield files.problem(one.root, one.path, said, remedy=remedy)
    for circle in circles({name: one.said.depends_on for name, one in known.items()}):
        first = known[circle[0]]
        said = f"these plans depend on each other: {' → '.join(circle)}"
        remedy = "Remove one of these dependencies: none of the plans can start."
        yield files.problem(first.root, first.path, said, remedy=remedy)


def _plan_files(files: PackFiles) -> list[tuple[str, str, str]]:
    """Each plan with the path and the worktree of the file that counts: that of the first worktree that has one."""
    found: dict[str, tuple[str, str, str]] = {}
    for root in files.roots:
        for plan, path in plan_paths(root, plans.PLAN):
            found.setdefault(plan, (plan, path, root))
    return list(found.values())


def _read(files: PackFiles, root: str, path: str, name: str) -> _PlanOnDisk | None:
    plan = plan_of(name)
    assert plan is not None, "`plan_paths` yields names of plans"
    try:
        data = files.read(root, path)
    except BadFile:
        return _PlanOnDisk(root=root, path=path, said=plans.PlanFile())  # the check of the file itself reports it
    return None if data is None else _PlanOnDisk(root=root, path=path, said=plans.read(data, plan))


def _check_names(files: PackFiles, root: str) -> Iterator[FileProblem]:
    """Plans with two files in one worktree: the second one is not read."""
    known: dict[str, str] = {}
    for plan, path in plan_paths(root, plans.PLAN):
        if plan in known:
            said = f"{known[plan]} is the file of plan {plan}, so this one is not read"
            yield files.problem(root, path, said, remedy="Rename one of them.")
        known.setdefault(plan, path)


def _placed(problem: FileProblem) -> FileProblem:
    """The problem with the position that its text begins with, as a position."""
    place, _, text = problem.message.partition(": ")
    words = place.replace(",", "").split(" ")
    if not place.startswith(_PLACED) or len(words) != 4 or not (words[1].isdigit() and words[3].isdigit()):
        return problem
    return problem.replace(message=text, line=int(words[1]), column=int(words[3]))
