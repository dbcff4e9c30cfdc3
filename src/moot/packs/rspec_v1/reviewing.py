"""Reviews a spec file against the 28 rules. Read-only and pure: the same inputs give the same report."""

from __future__ import annotations

from moot.packs.rspec_v1.method_block import MethodBlock, NoBlock, find_block, header_of
from moot.packs.rspec_v1.review_report import Review, verdict_of
from moot.packs.rspec_v1.review_rules import CHECKS, Reviewed
from moot.packs.rspec_v1.shipped import rules
from moot.packs.rspec_v1.time_rules import time_remarks
from moot.packs.ruby.spec_tree import parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.packs.rspec_v1.review_report import RuleVerdict
    from moot.packs.rspec_v1.shipped import Rule

_LINTER_RULE = 21
_READER = "needs a reader"
_NO_DOCUMENT = "left out: needs the metadata document"


def review(path: str, data: bytes, document: Mapping[str, Any] | None) -> Review:
    """The review of a spec file; of the block of the target method, if there is a document. Raises `NoBlock`."""
    if document is None:
        spec = parse_spec(data)
        if spec.problems:
            raise NoBlock(f"not valid Ruby: {spec.problems[0].message}", spec.problems[0].line)
        if not spec.groups:
            raise NoBlock("no group of examples")
        given = Reviewed(path=path, data=data, groups=spec.groups)
        target = ""
    else:
        block: MethodBlock = find_block(data, document.get("target") or {})
        given = Reviewed(path=path, data=data, groups=(block.group,), outer=block.outer, document=document)
        target = f"{given.target.get('class')}{header_of(given.target)}"
    verdicts = tuple(_verdict(rule, given) for rule in rules())
    left_out = tuple(f"rule {one.rule.number}, {one.rule.title}" for one in verdicts if one.note == _NO_DOCUMENT)
    return Review(
        spec=path, target=target, verdicts=verdicts, time=tuple(time_remarks(given.groups, data)), left_out=left_out
    )


def _verdict(rule: Rule, given: Reviewed) -> RuleVerdict:
    if rule.number == _LINTER_RULE:
        return verdict_of(rule, (), _linted(given.document))
    if rule.checked == "reader":
        return verdict_of(rule, (), _READER)
    if rule.needs == "document" and given.document is None:
        return verdict_of(rule, (), _NO_DOCUMENT)
    return verdict_of(rule, list(CHECKS[rule.number](given)))


def _linted(document: Mapping[str, Any] | None) -> str:
    """Why the linter's rule is not decided; empty if the polisher's linter left no offence."""
    automation = (document or {}).get("automation") or {}
    if automation.get("linter") and automation.get("polisher_completed") is True:
        return ""
    return "no linter result"
