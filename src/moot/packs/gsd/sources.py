"""The files of a project that moot only reads: plans, their summaries, and `.planning/config.json`.

Each plan is a document of the mirror `plans`, and each summary one of the mirror `summaries`, both by the plan's name.
The configuration is the document of the mirror `config`. Decisions use the documents.
"""

from __future__ import annotations

import os

from moot.api.protocol.source_form import PATH, PROBLEMS, SourceForm, source_key, sources
from moot.core import strict_json
from moot.core.record import Record
from moot.packs.gsd import handlers, plans
from moot.packs.gsd.handlers import CONFIG, PACK
from moot.packs.gsd.ids import plan_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.pack_files import FileProblem, PackFiles
    from moot.core.deciders.document import Document
    from moot.engine.unit_of_work import Work
    from moot.views.store import Store

PLANS, SUMMARIES = "plans", "summaries"
FILES = tuple(f"document/{PACK}.-.{mirror}." for mirror in (PLANS, SUMMARIES))  # how their streams begin
_PHASES = ".planning/phases"
_CONFIG = ".planning/config.json"
_LISTS = ("depends_on", "needs", "tasks", "problems")


class Unusable(Record):
    """A file that cannot be read: a link, too large, another account's."""

    reason: str


class PlanFacts(plans.PlanFile):
    """What the log knows about a plan from its files."""

    id: str = ""
    path: str = ""  # of its file; empty: it has none
    since: str = ""  # when its file was last taken in
    summary: str = ""  # the path of its summary; empty: it has none


class _PhaseFiles(SourceForm):
    """Files of plans: `.planning/phases/<phase>/<plan>-<ending>`."""

    ending = plans.PLAN

    def found(self, root: str) -> Iterator[tuple[str, str]]:
        return plan_paths(root, self.ending)

    def unusable(self, reason: str, data: bytes | None) -> Unusable:  # noqa: ARG002
        return Unusable(reason=reason)


class PlanForm(_PhaseFiles):
    """Plan files, with what `moot.packs.gsd.plans` finds in them."""

    def leaves(self, content: bytes | Unusable, subject: str) -> Mapping[str, Any]:
        plan = plan_of(subject)
        assert plan is not None, "`found` yields names of plans"
        known = plans.unreadable(content.reason) if isinstance(content, Unusable) else plans.read(content, plan)
        return {f"/{name}": list(value) if name in _LISTS else value for name, value in known.plain().items()}


class SummaryForm(_PhaseFiles):
    """Summaries. Only their existence counts."""

    ending = plans.SUMMARY

    def leaves(self, content: bytes | Unusable, subject: str) -> Mapping[str, Any]:  # noqa: ARG002
        return {PROBLEMS: [content.reason]} if isinstance(content, Unusable) else {}


class ConfigForm(SourceForm):
    """`.planning/config.json`. Only `event_handlers` is taken from it."""

    def read(self, data: bytes) -> object:
        return strict_json.load(data)

    def unusable(self, reason: str, data: bytes | None) -> Unusable:  # noqa: ARG002
        return Unusable(reason=reason)

    def leaves(self, content: object, subject: str) -> Mapping[str, Any]:  # noqa: ARG002
        if isinstance(content, Unusable):
            return {PROBLEMS: [content.reason]}
        registered = next(pack.values for pack in self.packs.packs if pack.name == PACK).get("handlers", {})
        named, problems = handlers.read(content, registered)
        return {**handlers.leaves_of(named), **({PROBLEMS: problems} if problems else {})}


def plan_paths(root: str, ending: str) -> Iterator[tuple[str, str]]:
    """The files of plans in a worktree: each with the name of its plan and its path, in order."""
    for folder in _listed(os.path.join(root, _PHASES), folders=True):
        for file in _listed(os.path.join(root, _PHASES, folder)):
            plan = plans.named(file, folder, ending)
            if plan is not None:
                yield plan.name, f"{_PHASES}/{folder}/{file}"


def known_handlers(store: Store) -> dict[str, tuple[str, ...]]:
    """The custom handlers by type of event, outside a commit."""
    from moot.core.kind import kind_of
    from moot.views import states

    return handlers.all_of(states.state(store, kind_of("document"), source_key(PACK, CONFIG))[0].leaves)


def plan_facts(work: Work, plan: str) -> PlanFacts:
    """What the log knows about a plan, inside a commit. `plan` is a `PlanId.name`."""
    written = work.state("document", source_key(PACK, PLANS, plan))
    return _facts(plan, written, work.state("document", source_key(PACK, SUMMARIES, plan)))


def all_plans(store: Store) -> dict[str, PlanFacts]:
    """The plans with a file or a summary, by name, in order."""
    summaries = {one.subject: one for one in sources(store, PACK, SUMMARIES) if one.leaves}
    files = {one.subject: one for one in sources(store, PACK, PLANS) if one.leaves}
    known = {name: plan for name in {*files, *summaries} if (plan := plan_of(name)) is not None}
    return {
        name: _facts(name, files.get(name), summaries.get(name))
        for name, _ in sorted(known.items(), key=lambda one: one[1].order)
    }


def check(call: Call, files: PackFiles) -> Iterator[FileProblem]:
    """Problems of the configuration and the plans, for `moot pack check`, `moot gsd check` and `moot doctor`."""
    from moot.api.protocol.pack_files import BadFile

    registered = call.settings.pack_settings.get(PACK, {}).get("handlers", {})
    for root in files.roots:
        try:
            content = files.json(root, _CONFIG)
        except BadFile:
            content = None  # the check of the file itself reports it
        for problem in handlers.read({} if content is None else content, registered)[1]:
            yield files.problem(root, _CONFIG, problem, remedy="Correct it. Until then the other handlers run.")
        yield from _check_plans(files, root)


def _check_plans(files: PackFiles, root: str) -> Iterator[FileProblem]:
    from moot.api.protocol.pack_files import BadFile

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


def _facts(plan: str, written: Document | None, summary: Document | None) -> PlanFacts:
    said = {at.removeprefix("/"): value for at, value in (written.leaves if written else {}).items()}
    done = summary.leaves if summary is not None and PROBLEMS not in summary.leaves else {}
    since = (written.changed_at or written.at) if written else ""
    return PlanFacts.of({**said, "id": plan, "since": since, "summary": done.get(PATH, "")})


def _listed(folder: str, *, folders: bool = False) -> list[str]:
    """The names in a folder; with `folders`, of the folders in it. Links to folders are not followed."""
    try:
        with os.scandir(folder) as found:
            return sorted(one.name for one in found if not folders or one.is_dir(follow_symlinks=False))
    except OSError:
        return []
