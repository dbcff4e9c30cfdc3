"""Which stages are asked for, and whether one may run alone on what the earlier ones have left."""

from __future__ import annotations

from moot.core.errors import Refused
from moot.core.text import bullets
from moot.pipelines.contract import StageError
from moot.pipelines.preparing import TooEarly, Unmet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from moot.api.protocol import Pack
    from moot.api.protocol.stage import Stage
    from moot.pipelines.preparing import Preparation, TargetState
    from moot.pipelines.reuse import Reuse
    from moot.runs.steps import RunOptions


def chosen_stages(pack: Pack, options: RunOptions) -> Sequence[Stage]:
    """The stages to go through: all of them, or up to one."""
    stages, end = pack.stages, options.only or options.until
    names = [stage.name for stage in stages]
    if end and end not in names:
        raise Refused(
            "unknown_stage",
            f"{pack.name} has no stage {end[:80]!r}.",
            f"Its stages: {', '.join(names)}.",
            stage=end[:80],
        )
    return stages[: names.index(end) + 1] if end else stages


def check_alone(
    stages: Sequence[Stage],
    preparation: Preparation,
    plan_of: Callable[[TargetState], Reuse],
    options: RunOptions,
    passed: Container[str],
) -> None:
    """Refuse to run the last of these stages alone, before anything is written. `passed`: stages with a result.

    The same is checked again in the commit that starts a stage; until then, everything may change.
    """
    stage = stages[-1]
    try:
        now = preparation.look()
        plan = plan_of(now)
        pending = stages[len(plan.kept) : -1]
        if pending:
            preparation.check_begun(now)
        preparation.check(stage, now, [one for one in pending if one.name in options.first])
        for one in pending:
            if one is pending[0] or one.name not in passed:
                check_asked_for(one, plan, options, passed)
    except TooEarly as error:
        raise Refused("stage_too_early", f"{error.text}.", f"{error.advice}.", stage=error.missing) from error
    except (Unmet, StageError) as error:
        raise _not_ready(stage, error) from error


def check_asked_for(stage: Stage, plan: Reuse, options: RunOptions, passed: Container[str]) -> None:
    """Refuse a stage that would have to run, although another one is to run alone."""
    if not options.only or stage.name in (options.only, *options.first):
        return
    raise TooEarly(stage, plan.reason if stage.name in passed else "")


def _not_ready(stage: Stage, error: Unmet | StageError) -> Refused:
    """The error for a stage whose own prerequisites do not hold."""
    advice = error.advice if isinstance(error, Unmet) else error.suggestion
    problems = [one.said for one in error.problems if one.said != error.text]
    lines = (f"{advice.rstrip('.') or 'Correct it, then run the command again'}.", *bullets(problems, len(problems)))
    return Refused("stage_not_ready", error.text, "\n".join(lines), stage=stage.name, problems=problems)
