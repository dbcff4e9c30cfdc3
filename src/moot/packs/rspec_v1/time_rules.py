"""Time handling in a spec: what makes a test depend on the clock, the zone or the calendar."""

from __future__ import annotations

import re  # noqa: TID253 (loaded on demand)

from moot.packs.rspec_v1.group_calls import calls_of, setup_calls
from moot.packs.rspec_v1.review_report import Remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moot.packs.ruby.calls import RubyCall
    from moot.packs.ruby.spec_tree import Group

_NOW = frozenset(
    (
        *(("Time", "now"), ("Date", "today"), ("DateTime", "now"), ("Time", "current"), ("Date", "current")),
        *(("Time.zone", "now"), ("Time.zone", "today")),
    )
)
_FREEZERS = ("freeze_time", "travel_to", "travel")
_BACK = ("travel_back", "unfreeze_time")
_GAP = re.compile(r"(?<![\d:])0?2:[0-5]\d")  # the hour that daylight saving time skips
_LOCAL = re.compile(r"(?:local|new|mktime|utc)\(\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*0?2\s*[,)]")
_DAY = re.compile(rb"EXTRACT\s*\(\s*DOW", re.IGNORECASE)


def time_remarks(groups: Sequence[Group], data: bytes) -> list[Remark]:
    """All findings of the section on time handling, by line."""
    found = [remark for group in groups for remark in _remarks(group, frozen=False, back=False)]
    calls = [call for group in groups for part in group.walk() for call in calls_of(part)]
    if _DAY.search(data):
        found += [
            Remark(
                line=call.line,
                found="`wday` and SQL `EXTRACT(DOW` count the days of the week in two places.",
                fix="Compute the day in one place only.",
            )
            for call in calls
            if call.name == "wday"
        ]
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.found))


def unstable(remarks: Sequence[Remark]) -> list[Remark]:
    """Those that make a result depend on when the test runs (rule 27)."""
    return [one for one in remarks if "without frozen time" in one.found]


def _remarks(group: Group, *, frozen: bool, back: bool) -> Iterator[Remark]:
    hooks = [call for hook in group.hooks for call in hook.calls]
    frozen = frozen or any(_freezes(call) for call in hooks)
    back = back or any(call.name in _BACK for call in hooks)
    yield from _in_calls((*group.calls, *setup_calls(group)), frozen=frozen, back=back)
    for example in group.examples:
        yield from _in_calls(
            example.calls,
            frozen=frozen or any(_freezes(call) for call in example.calls),
            back=back or any(call.name in _BACK for call in example.calls),
        )
    for inner in group.groups:
        yield from _remarks(inner, frozen=frozen, back=back)


def _freezes(call: RubyCall) -> bool:
    return (call.name in _FREEZERS and not call.receiver) or (call.receiver, call.name) == ("Timecop", "freeze")


def _in_calls(calls: Sequence[RubyCall], *, frozen: bool, back: bool) -> Iterator[Remark]:
    for call in calls:
        said = f"`{call.receiver}.{call.name}`"
        if (call.receiver.removeprefix("::"), call.name) in _NOW and not frozen:
            yield Remark(
                call.line, f"{said} without frozen time.", "Freeze the time with `freeze_time` or `travel_to`."
            )
        elif call.name == "parse" and call.receiver in ("Date", "Time", "DateTime"):
            yield Remark(call.line, f"{said} ignores the time zone of the application.", "Use `Time.zone.parse`.")
        elif call.name in _FREEZERS and not call.receiver:
            if not call.block and not back:
                yield Remark(
                    call.line,
                    f"`{call.name}` without a block and without `travel_back`.",
                    "Give it a block, or call `travel_back` in an `after` hook.",
                )
            source = ", ".join(one.source for one in call.arguments)
            if _GAP.search(source) or _LOCAL.search(source):
                yield Remark(
                    call.line,
                    f"`{call.name}` between 02:00 and 03:00, an hour that does not exist on one day of the year.",
                    "Choose another hour.",
                )
