"""When the document of a source file can be used again."""

from __future__ import annotations

import pytest

from moot.packs.rspec_v1.caching import AnalysisTarget, Recorded, SourceState, judge
from tests.specs.rspec_v1.documents import PAYMENT, changed, without

FILE = "app/services/payment_service.rb"
NOW = SourceState(mtime=1699351530, nanoseconds=1699351530_000000001, digest="d1")
WANTED = AnalysisTarget(FILE, "PaymentService", "process_payment", "instance")
RECORDED = Recorded(NOW.nanoseconds, NOW.digest, "1.0")


@pytest.mark.proves("S1-CACHE-01")
def test_without_a_document_the_analysis_runs_in_full() -> None:
    verdict = judge(None, NOW, WANTED)
    assert (verdict.valid, verdict.reason, verdict.step) == (False, "metadata not found", 2)


@pytest.mark.proves("S1-CACHE-02", "S1-CACHE-04")
@pytest.mark.parametrize(
    ("document", "reason", "step"),
    [
        (changed("analyzer.completed", False), "analysis incomplete", 3),
        (changed("analyzer.completed", "true"), "analysis incomplete", 3),
        (without("analyzer"), "analysis incomplete", 3),
        (changed("analyzer", "yes"), "analysis incomplete", 3),
        ({"automation": {"errors": ["analyzer: Source file not found: x.rb"]}}, "analysis incomplete", 3),
        (changed("validation.completed", False), "metadata invalid", 4),
        (changed("validation.errors", ["target: missing"]), "metadata invalid", 4),
        (without("validation"), "metadata invalid", 4),
        (without("validation.errors"), "metadata invalid", 4),
        (without("analyzer.source_file_mtime"), "missing source_file_mtime in metadata", 5),
        (changed("analyzer.source_file_mtime", True), "missing source_file_mtime in metadata", 5),
        (changed("analyzer.source_file_mtime", 1), "source file modified", 5),
    ],
)
def test_each_step_that_fails_has_its_reason(document: dict[str, object], reason: str, step: int) -> None:
    verdict = judge(document, NOW, WANTED)
    assert (verdict.valid, verdict.reason, verdict.step) == (False, reason, step)


@pytest.mark.proves("S1-CACHE-02")
def test_a_document_that_cannot_be_parsed_is_corrupted() -> None:
    assert judge(None, NOW, WANTED, corrupted=True).reason == "metadata corrupted"


@pytest.mark.proves("S1-CACHE-04", "S1-HARD-04")
def test_if_all_steps_hold_the_cache_is_valid_also_for_a_document_of_others() -> None:
    for recorded in (None, RECORDED):
        verdict = judge(PAYMENT, NOW, WANTED, recorded, version="1.0")
        assert verdict.valid
        assert verdict.reason is None
        assert verdict.cached_mtime == verdict.current_mtime == NOW.mtime


@pytest.mark.proves("S1-HARD-03")
@pytest.mark.parametrize(
    "wanted",
    [
        WANTED.replace(method="refund"),
        WANTED.replace(class_name="Refunds"),
        WANTED.replace(method_type="class"),
        WANTED.replace(file="app/services/payment/service.rb"),
    ],
)
def test_the_cache_answers_only_for_the_same_target(wanted: AnalysisTarget) -> None:
    assert judge(PAYMENT, NOW, wanted, RECORDED, version="1.0").reason == "metadata of another target"
    assert judge(PAYMENT, NOW, AnalysisTarget(FILE), RECORDED, version="1.0").valid


@pytest.mark.proves("S1-HARD-04")
@pytest.mark.parametrize(
    ("source", "version", "reason"),
    [
        (NOW.replace(nanoseconds=NOW.nanoseconds + 1), "1.0", "source file modified"),
        (NOW.replace(digest="d2"), "1.0", "source file modified"),
        (NOW, "1.1", "another version of the analyzer"),
    ],
)
def test_what_seconds_do_not_show_is_noticed(source: SourceState, version: str, reason: str) -> None:
    assert judge(PAYMENT, source, WANTED, RECORDED, version=version).reason == reason
