"""rspec cache: whether the results for a source are valid, and if not, why."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call


def cache(call: Call, source: str) -> Answer:
    from moot.packs.rspec.caching import cache_state

    state = cache_state(call, source)
    lines = [f"{state.slug}: {'the cache is valid' if state.valid else 'the cache is not valid'}"]
    lines += [f"  {reason}" for reason in state.reasons]
    return Answer(result=state, say=tuple(lines))


CACHE = Verb(
    "rspec cache",
    "Say whether the results for a source are valid.",
    cache,
    kind="look",
    protocol=True,
    params=(Param("source", "A source file, or the slug of its document.", positional=True, required=True),),
    examples=("moot rspec cache app/models/payment.rb",),
    detail=(
        "They are valid if the document exists, the source has the same time and content, all seven stages have "
        "completed, and the last review found no errors. Otherwise the conditions that do not hold are listed."
    ),
)
