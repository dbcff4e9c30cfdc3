"""The answer to a dry run: what would happen, with the warnings that the real call would give. Writes nothing."""

from __future__ import annotations

from moot.core.deciders.message import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.engine.unit_of_work import Work


def dry_run(call: Call, act: Callable[[Work], None]) -> Answer:
    last: list[Work] = []

    def tried(work: Work) -> None:
        act(work)
        last[:] = [work]

    answer = call.try_out(tried)
    for draft in last[0].drafts:
        if draft.type == Sent.type:
            warn_of_flags(call, draft.data.get("flags", ()))
    if call.engine.requests is not None:
        _warn_of_effects(call, last[0])
    return answer


def warn_of_flags(call: Call, flags: tuple[str, ...]) -> None:
    """Warn the sender of what moot noticed about its message. A flag is `code: message`."""
    for flag in flags:
        call.warn(*(part.strip() for part in flag.split(":", 1)))


def _warn_of_effects(call: Call, work: Work) -> None:
    """Warn of effects that the commit would request while no runner performs any."""
    from moot.api import notices

    before = len(work.drafts)
    assert call.engine.requests is not None, "asked before"
    call.engine.requests(work, call.actor(work).principal)  # nothing is appended
    caused = sum(draft.type == "effect:requested" for draft in work.drafts[before:])
    for notice in notices.of_waiting(caused, call.place.state):
        call.warn(notice.code, notice.message)
