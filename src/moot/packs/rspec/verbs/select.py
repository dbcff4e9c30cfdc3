"""rspec select: answer which methods are covered, and go on with the run that waits for it."""

from __future__ import annotations

from moot.api.catalogue import Param, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.api.call import Call


def select(call: Call, answer: tuple[str, ...], run: str | None) -> Answer:
    from moot.packs.rspec import cover
    from moot.packs.rspec.cover_run import CoverOptions

    call.lasting = True
    found, options = cover.waiting_run(call, run), CoverOptions()
    return cover.select(call, found, " ".join(answer), options) if answer else cover.proceed(call, found, options)


SELECT = Verb(
    "rspec select",
    "Choose the methods of a run that waits for it, and go on.",
    select,
    kind="local-exec",
    params=(
        Param(
            "answer",
            "yes, all or cancel; patterns such as 'Payment#*'; numbers of the plan; or '+Payment#a' and '-Payment#b' "
            "to add to the proposal and leave out. Without an answer, one that was given before is used.",
            positional=True,
            many=True,
            limit=20_000,
        ),
        Param("run", "The run that waits. By default the newest."),
    ),
    examples=(
        "moot rspec select yes",
        "moot rspec select 'Payment#*' '*#process'",
        "moot rspec select -- -Payment#to_s",
    ),
    detail=(
        "Only a person can choose, and only once. An answer that matches nothing is refused, and the question stays "
        "open. Exit codes: 0, 1 for an error, 2 with warnings, 3 if the run is stopped or waits."
    ),
    protocol=True,
)
