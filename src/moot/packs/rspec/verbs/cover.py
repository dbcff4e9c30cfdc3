"""rspec cover: find changed methods, let a person choose, and cover them with tests."""

from __future__ import annotations

from moot.api.catalogue import Param, Verb
from moot.core.errors import Usage
from moot.packs.rspec.isolation import LEVELS
from moot.packs.rspec.verbs.discover import WHERE, wanted
from moot.packs.rspec.verbs.resume import RUNNING, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.api.call import Call


def cover(
    call: Call,
    path: str | None,
    branch: bool,
    staged: bool,
    base: str | None,
    all: bool,  # noqa: A002
    only: tuple[str, ...],
    except_: tuple[str, ...],
    yes: bool,
    level: str | None,
    instruction: str | None,
    limit: int | None,
    again: bool,
    overwrite: bool,
    continue_: bool,
    output: bool,
) -> Answer:
    from moot.packs.rspec import cover as covering

    call.lasting = True  # what it stores first is only the beginning
    if all and only:
        raise Usage("all_or_only", "--all and --only exclude each other.", "Leave one of them out.")
    wishes = {
        **({"level": level, "level_by": call.caller.agent or call.login} if level else {}),
        **({"instruction": instruction} if instruction else {}),
        **({"overwrite": True} if overwrite else {}),
    }
    chosen = all or yes or bool(only or except_)
    beforehand = covering.Beforehand(given=chosen, wishes=wishes, everything=all, only=only, but=except_)
    options = options_of(limit, again, overwrite, continue_, output)
    return covering.cover(call, wanted(path, branch, staged, base), beforehand, options)


COVER = Verb(
    "rspec cover",
    "Cover changed methods with RSpec tests.",
    cover,
    kind="local-exec",
    params=(
        *WHERE,
        Param("all", "Select all methods, including unchanged ones.", type="flag"),
        Param("only", "Select only methods whose id matches, such as 'Payment#*'.", many=True, limit=500),
        Param("except_", "Leave out methods whose id matches.", many=True, limit=500),
        Param("yes", "Select what is proposed: new and modified methods, all methods of a single file.", type="flag"),
        Param("level", "The level at which the methods are tested, instead of the one found.", choices=LEVELS),
        Param("instruction", "Stands word for word in the prompts of the agents.", limit=20_000),
        *RUNNING,
    ),
    examples=(
        "moot rspec cover --branch",
        "moot rspec cover --staged --only 'Payment#*' --except '*#to_s'",
        "moot rspec cover app/models/payment.rb --yes",
    ),
    detail=(
        "Without an option that selects, a person at the terminal is asked; without a terminal, the run waits until a "
        "person answers: `moot rspec select`, or `moot answer` and later `moot rspec resume`. Exit codes: 0, 1 for an "
        "error, 2 with warnings, 3 if it is stopped or waits."
    ),
    protocol=True,
    founds=True,
    in_repository=True,
)
