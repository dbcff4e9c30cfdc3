"""rspec discover: show the changed methods, their waves and the proposed selection; changes nothing."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.packs.rspec.cover import CoverScope

WHERE = (
    Param("path", "A source file.", positional=True, limit=4096),
    Param("branch", "All files that differ from the base of the branch.", type="flag"),
    Param("staged", "The files with staged changes.", type="flag"),
    Param(
        "base",
        "The branch or commit to compare with. By default the remote's default branch, else main, else master.",
        limit=500,
    ),
)


def wanted(path: str | None, branch: bool, staged: bool, base: str | None) -> CoverScope:
    """What to look at. Exactly one of a file, --branch and --staged."""
    from moot.packs.rspec.changes import BRANCH, FILE, STAGED
    from moot.packs.rspec.cover import CoverScope

    given = [mode for mode, used in ((FILE, path is not None), (BRANCH, branch), (STAGED, staged)) if used]
    if len(given) != 1:
        raise Usage(
            "one_of_three",
            "No source was named." if not given else "Only one of PATH, --branch and --staged can be given.",
            "Name a source file, or give --branch or --staged.",
        )
    if staged and base is not None:
        raise Usage("base_with_staged", "Staged changes are always compared with HEAD.", "Leave out --base.")
    return CoverScope(given[0], path, base)


def discover(call: Call, path: str | None, branch: bool, staged: bool, base: str | None) -> Answer:
    from moot.packs.rspec.cover import STOP_CODE, WARNED, discovered, shown

    plan = discovered(call, wanted(path, branch, staged, base))
    for warning in plan.warnings:
        call.warn("discovery", warning)
    lines = [plan.answer["message"]] if plan.stopped else shown(plan)
    code = STOP_CODE if plan.stopped else WARNED if plan.warnings else 0
    return Answer(result=plan.answer, say=tuple(lines), code=code)


DISCOVER = Verb(
    "rspec discover",
    "Show changed methods in the order in which they can be covered with tests.",
    discover,
    kind="look",
    params=WHERE,
    examples=(
        "moot rspec discover --branch",
        "moot rspec discover --staged",
        "moot rspec discover app/models/payment.rb",
    ),
    detail=(
        "Prints the numbered methods, by file; --json gives the whole answer of the protocol's discovery-agent: waves, "
        "files with their complexity, the dependency graph and a summary. Changes nothing, except that a repository "
        "without a workspace gets one. Exit codes: 0, 1 for an error, 2 with warnings, and 3 if discovery stops, "
        "because a large file is all new code."
    ),
    writes=False,
    past=False,
    protocol=True,
    founds=True,
    in_repository=True,
)
