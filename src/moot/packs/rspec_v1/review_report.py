"""The review report: one row for each of the 28 rules, the findings, and a section on time handling.

Pure, and without a timestamp: the same spec gives the same bytes.
"""

from __future__ import annotations

from moot.core.record import Record
from moot.core.text import counted, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moot.packs.rspec_v1.shipped import Rule

PASSED, UNDECIDED = "passed", "not decidable by program"
VERDICTS = {"must": "violation", "should": "warning", "may": "suggestion"}
ORDER = (PASSED, *VERDICTS.values(), UNDECIDED)
_WIDTH = 300


class Remark(Record):
    """A finding: its line, what was found, and how to fix it."""

    line: int
    found: str
    fix: str


class RuleVerdict(Record):
    """The verdict on one rule. `note` says why it was not decided."""

    rule: Rule
    verdict: str
    remarks: tuple[Remark, ...] = ()
    note: str = ""


class Review(Record):
    """A whole review."""

    spec: str
    target: str  # `PaymentService#process`; empty without a document
    verdicts: tuple[RuleVerdict, ...]
    time: tuple[Remark, ...] = ()
    left_out: tuple[str, ...] = ()  # what needed the document

    @property
    def counts(self) -> dict[str, int]:
        return {name: sum(one.verdict == name for one in self.verdicts) for name in ORDER}

    @property
    def overall(self) -> str:
        counts = self.counts
        if counts["violation"]:
            return "violations found"
        return "passed with warnings" if counts["warning"] or counts["suggestion"] else "passed"

    @property
    def summary(self) -> str:
        """One line for people: the overall verdict, and the number of rules per verdict."""
        counts = ", ".join(f"{counted(number, 'rule')} {name}" for name, number in self.counts.items() if number)
        return f"{self.overall}: {counts}"


def verdict_of(rule: Rule, remarks: Sequence[Remark], note: str = "") -> RuleVerdict:
    """The verdict on a rule with these findings. With a note and no finding, it is not decided."""
    if remarks:
        return RuleVerdict(rule=rule, verdict=VERDICTS[rule.severity], remarks=tuple(remarks), note=note)
    return RuleVerdict(rule=rule, verdict=UNDECIDED if note else PASSED, note=note)


def render(review: Review) -> str:
    return "\n".join(_lines(review)) + "\n"


def missing_rules(report: str, rules: Sequence[Rule]) -> list[int]:
    """The rules for which a report has no row with a verdict."""
    rows: set[int] = set()
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.lstrip().startswith("|") and cells[0].isdigit() and any(cell.lower() in ORDER for cell in cells[1:]):
            rows.add(int(cells[0]))
    return [rule.number for rule in rules if rule.number not in rows]


def _lines(review: Review) -> Iterator[str]:
    yield f"# RSpec review: {review.spec}"
    yield ""
    yield f"- Target: {f'`{review.target}`' if review.target else 'unknown, because there is no metadata document'}"
    yield f"- Result: {review.summary}"
    yield from (f"- Left out without the metadata document: {one}" for one in review.left_out)
    yield ""
    yield "## Rules"
    yield ""
    yield "| # | Rule | Severity | Verdict | Findings |"
    yield "|---|---|---|---|---|"
    yield from (_row(one) for one in review.verdicts)
    for one in review.verdicts:
        if one.remarks:
            yield from ("", f"### Rule {one.rule.number}: {one.rule.title}", "")
            yield from _remarks(one.remarks)
    yield from ("", "## Time handling", "")
    if review.time:
        yield from _remarks(review.time)
    else:
        yield "No finding."


def _row(one: RuleVerdict) -> str:
    said = ", ".join(f"line {remark.line}" for remark in one.remarks) or one.note or "-"
    return f"| {one.rule.number} | {_cell(one.rule.title)} | {one.rule.severity} | {one.verdict} | {_cell(said)} |"


def _remarks(remarks: Sequence[Remark]) -> Iterator[str]:
    yield from (f"- line {one.line}: {_cell(one.found)} Fix: {_cell(one.fix)}" for one in remarks)


def _cell(text: str) -> str:
    return one_line(text, _WIDTH).replace("|", "\\|")
