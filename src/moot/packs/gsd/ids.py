"""Ids of the protocol: plans (`01-02`, `05.2-01`), phases (`01`, `05.2`), tasks (`01-02.1`) and decisions (`dec-001`).

Ids are compared as numbers, without regard to leading zeros, and shown as they were sent. `PlanId.name` is the spelling
that moot uses for its own keys: two digits for each part, as the planning system writes them.

Pure. Every function takes any JSON value, and answers None or False for what is not an id.
"""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Phase = tuple[int, ...]  # (5,) or (5, 2)

ANY = "*"
DECISION = "dec-"
_DIGITS = 9  # of one number; longer ones are not ids
_LEAST = 3  # digits of a decision's number


class PlanId(Record):
    """A plan, by its numbers: two spellings of one plan are equal."""

    phase: Phase
    number: int

    @property
    def name(self) -> str:
        return f"{phase_name(self.phase)}-{self.number:02d}"

    def __str__(self) -> str:
        return self.name

    @property
    def order(self) -> tuple[Phase, int]:
        """For sorting: 02 before 02.1 before 10."""
        return self.phase, self.number


def plan_of(text: Any) -> PlanId | None:
    """`01-02` and `05.2-01`."""
    if not isinstance(text, str):
        return None
    before, hyphen, after = text.partition("-")
    phase, number = phase_of(before), _number(after)
    return PlanId(phase=phase, number=number) if hyphen and phase is not None and number is not None else None


def phase_of(text: Any) -> Phase | None:
    """`01` and `05.2`, also as a whole number."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str):
        return None
    numbers = [_number(part) for part in text.split(".", 2)]
    return tuple(number for number in numbers if number is not None) if len(numbers) <= 2 and _whole(numbers) else None


def phase_name(phase: Phase) -> str:
    """Two digits, and the decimal part as it is: `05.2`."""
    return ".".join((f"{phase[0]:02d}", *map(str, phase[1:])))


def is_plan(text: Any) -> bool:
    return plan_of(text) is not None


def same_plan(one: Any, other: Any) -> bool:
    return (found := plan_of(one)) is not None and found == plan_of(other)


def covers(entry: Any, plan: Any) -> bool:
    """Whether an entry of `affects` covers a plan: the plan itself, or a pattern with `*` for whole parts.

    `02-*` is every plan of phase 02; `*-01` the first plan of every phase; `02.*-*` every plan of the phases between 02
    and 03; `*` every plan. Everything else is free text and covers nothing.
    """
    found, parts = plan_of(plan), _pattern(entry)
    if found is None or parts is None:
        return False
    if parts == (ANY,):
        return True
    phase, number = parts[:-1], parts[-1]
    return _fits(number, found.number) and (
        phase == (ANY,) or (len(phase) == len(found.phase) and all(map(_fits, phase, found.phase)))
    )


def is_pattern(entry: Any) -> bool:
    """Whether an entry of `affects` is a plan id or a pattern, rather than free text."""
    return _pattern(entry) is not None


def is_task(value: Any) -> bool:
    """Whether it is the number of a task: a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**_DIGITS


def task_id(plan: str, task: int) -> str:
    """The key of a task: `01-02.1`, however the plan is spelled."""
    found = plan_of(plan)
    assert found is not None, f"{plan!r} was not checked"
    return f"{found.name}.{task}"


def task_of(text: Any) -> tuple[PlanId, int] | None:
    """The plan and the number in `01-02.1`."""
    if not isinstance(text, str):
        return None
    before, _, number = text.rpartition(".")
    plan, task = plan_of(before), _number(number)
    return (plan, task) if plan is not None and task else None


def decision_of(text: Any) -> int | None:
    """The number in `dec-001`: at least three digits."""
    if not isinstance(text, str) or not text.startswith(DECISION):
        return None
    digits = text.removeprefix(DECISION)
    return _number(digits) if len(digits) >= _LEAST else None


def decision_id(number: int) -> str:
    return f"{DECISION}{number:0{_LEAST}d}"


def _number(text: str) -> int | None:
    return int(text) if 0 < len(text) <= _DIGITS and text.isascii() and text.isdigit() else None


def _whole(numbers: list[int | None]) -> bool:
    return all(number is not None for number in numbers)


def _pattern(entry: Any) -> tuple[int | str, ...] | None:
    """The parts of a plan id or a pattern: numbers and `*`."""
    if entry == ANY:
        return (ANY,)
    if not isinstance(entry, str):
        return None
    before, hyphen, after = entry.partition("-")
    phase = before.split(".", 2)
    parts = [ANY if part == ANY else _number(part) for part in (*phase, after)]
    if not hyphen or len(phase) > 2:
        return None
    return tuple(part for part in parts if part is not None) if None not in parts else None


def _fits(part: int | str, number: int) -> bool:
    return part in (ANY, number)
