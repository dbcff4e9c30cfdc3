"""Whole runs: a branch with four classes in two waves, real RSpec, and scripted agents."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused
from moot.packs.rspec.agents import AGENTS, is_completed, snake
from moot.packs.rspec.document_check import errors_of

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop

BOOK, CUSTOMER, CHECKOUT, RESTOCKING = (
    "app_models_book",
    "app_models_customer",
    "app_services_checkout",
    "app_services_restocking",
)


@pytest.mark.proves(
    "S2-FLOW-01",
    "S2-FLOW-03",
    "S2-SEQ-01",
    "S2-MARK-01",
    "S2-SKIP-02",
    "S2-ART-01",
    "S2-META-01",
    "S2-MECH-03",
)
@pytest.mark.proves(
    "S2-FLOW-05",
    "S2-MECH-01",
    "S2-SKIP-01",
    "S2-ENG-02",
    "S2-FLOW-06",
    "S2-CACHE-01",
    "S2-CACHE-02",
    "S2-MECH-04",
)
def test_a_branch_is_covered_wave_by_wave_and_then_everything_is_reused(shop: Shop) -> None:
    shop.stock()
    shop.open()
    report = shop.cover()
    waves = [(one.wave, one.slug, one.tests_passed, sum(one.examples.values())) for one in report.files]
    assert waves == [
        (0, BOOK, True, 2),
        (0, CUSTOMER, True, 3),
        (0, CHECKOUT, True, 1),
        (1, CHECKOUT, True, 3),
        (1, RESTOCKING, True, 2),
    ]
    assert report.files[2].skipped == {"factory-agent": "All factories exist"}
    checkout = shop.document(CHECKOUT)
    assert errors_of(checkout) == []
    assert all(is_completed(checkout, agent) for agent in AGENTS)
    marks = checkout["automation"]
    assert marks["factory_agent_skipped"] is True
    assert marks["factory_agent_skip_reason"] == "All factories exist"
    assert all(isinstance(marks[f"{snake(agent)}_version"], str) for agent in AGENTS)
    assert [one["name"] for one in checkout["structure"]["methods"]] == ["#total", ".reduced"]
    spec = shop.file("spec/services/checkout_spec.rb")
    assert spec.count("expect(value).to eq(1)") == 3
    assert "{" + "EXPECTATION}" not in spec
    started = shop.asked()
    assert started[:2] == ["You are factory-agent: app/models/book.rb", "You are test-implementer: app/models/book.rb"]
    prompt = (shop.root.parent / "prompts" / "2.md").read_text()
    assert "You are test-implementer" in prompt
    assert prompt.index("Write the tests") < prompt.index("You pass if") < prompt.index("## The document")
    assert "spec/models/book_spec.rb` (you may change it)" in prompt
    assert "cross_class_deps" not in prompt
    status = shop.moot("run", "status")
    assert "wave 1" in status
    assert "factory-agent skipped: All factories exist" in status
    assert shop.rspec("cache", source="app/models/book.rb").valid
    assert [one.tests_passed for one in shop.cover().files] == [True] * 5
    assert shop.asked() == started, "nothing has changed, so no agent is asked again"
    path = shop.root / "app/models/book.rb"
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))
    state = shop.rspec("cache", source="app/models/book.rb")
    assert not state.valid
    assert "the time of the source" in state.reasons[0]
    os.utime(path, (1, 1))
    state = shop.rspec("cache", source=BOOK)
    assert state.file_mtime == 1
    assert f"source_mtime is {state.source_mtime}, and the file's is 1" in state.reasons


LIES = {
    "nothing": "{EXPECTATION} is left",
    "drops": "examples",
    "renames": "expected the context",
    "hollow": "has no expectation",
    "swallows": "customer_spec.rb:1: changed; only the blocks of #discount may change",
    "broken": "does not parse",
    "foreign": "data.behaviors",
    "stray": "app/models/stray.rb",
    "hooks": ".git/hooks/pre-commit: changed while the stage ran",
    "trailing": "I changed my mind",
    "silent": "the output is empty",
    "crashes": "killed by signal 9",
    "marker": "{SETUP_CODE} is left",
}


@pytest.mark.proves(
    "S2-HARD-05",
    "S2-IMPL-03",
    "S2-ART-02",
    "S2-ENR-01",
    "S2-RESP-02",
    "S2-RESP-03",
    "S2-FAIL-01",
    "S2-ERR-01",
)
@pytest.mark.proves("S2-MARK-02")
@pytest.mark.parametrize("lie", LIES)
def test_a_lying_agent_fails_its_stage(shop: Shop, lie: str) -> None:
    shop.stock("models/customer", "services/checkout")
    shop.write("Gemfile", "")  # without factories, so that no other agent is needed
    shop.open(lie)
    with pytest.raises(Refused) as refused:
        shop.cover()
    assert refused.value.code == "stage_failed"
    assert refused.value.details["stage"] == "test-implementer"
    assert LIES[lie] in refused.value.message
    document = shop.document(CUSTOMER)
    assert not is_completed(document, "test-implementer")
    assert document["automation"]["errors"][0].startswith("test_implementer: ")
    assert not (shop.root / "tmp/rspec_metadata" / f"{CHECKOUT}.yml").exists(), "no later document was started"
    assert len(shop.asked()) == 1, "nothing is tried again"


UNTESTED = {
    "pends": "it did not run",
    "leaves": "it passed, and executed no expectation",
    "evades": "it passed, and executed no expectation",
    "hides": "it failed, and a hook took the failure back",
}


@pytest.mark.proves("S2-REV-01", "S2-REV-04", "S2-HARD-05")
@pytest.mark.parametrize("lie", UNTESTED)
def test_an_example_that_verified_nothing_fails_the_review_of_its_wave(shop: Shop, lie: str) -> None:
    shop.stock("models/customer")
    shop.write("Gemfile", "")
    shop.open(lie)
    with pytest.raises(Refused, match=UNTESTED[lie]):
        shop.cover()
    assert any("failed: " in one for one in shop.document(CUSTOMER)["automation"]["errors"])


@pytest.mark.proves("S2-HARD-15", "S2-HARD-05")
def test_an_example_that_tests_nothing_fails_the_review_with_its_line(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.write("Gemfile", "")
    shop.open("constant")
    with pytest.raises(Refused, match="examples pass that test nothing: Customer#discount") as refused:
        shop.cover()
    assert refused.value.details["stage"] == "test-reviewer"
    assert "(spec/models/customer_spec.rb:" in refused.value.message
    assert not is_completed(shop.document(CUSTOMER), "test-reviewer")


@pytest.mark.proves("S2-IMPL-03", "S2-IMPL-05")
def test_a_wrong_number_in_an_answer_is_a_warning(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.write("Gemfile", "")
    shop.open("overcounts")
    assert [one.tests_passed for one in shop.cover().files] == [True]
    warnings = shop.document(CUSTOMER)["automation"]["warnings"]
    assert any("expected 4 examples, found 3" in one for one in warnings)


@pytest.mark.proves("S2-REC-01", "S2-MECH-04", "S2-ERR-01")
def test_after_a_correction_the_run_goes_on_from_the_failed_stage(shop: Shop) -> None:
    shop.stock("models/book", "models/customer")
    shop.open("drops")
    with pytest.raises(Refused) as refused:
        shop.cover()
    started = len(shop.asked())
    shop.moot("run", "restore", refused.value.details["run"])
    shop.behave("honest")
    report = shop.rspec("resume")
    assert [one.tests_passed for one in report.files] == [True, True]
    assert shop.asked()[started] == "You are test-implementer: app/models/book.rb", "earlier stages are not repeated"
    assert not shop.document(BOOK)["automation"].get("errors")


@pytest.mark.proves("S2-HARD-10")
def test_an_agent_that_hangs_is_ended_at_its_time_limit(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open("hangs", timeout="2s")
    with pytest.raises(Refused, match="timed out after 2 s"):
        shop.cover()


@pytest.mark.proves("S2-ARCH-09", "S2-ENG-02")
@pytest.mark.parametrize("behaviour", ["honest", "recodes"])
def test_a_command_may_reword_the_plan_and_nothing_else(shop: Shop, behaviour: str) -> None:
    shop.stock("models/book")
    shop.open(architect=behaviour)
    if behaviour == "recodes":
        with pytest.raises(Refused, match="more was changed than the texts"):
            shop.cover()
        return
    assert shop.cover().files[0].tests_passed
    assert 'it "does thing 1" do' in shop.file("spec/models/book_spec.rb")
    contexts = shop.document(BOOK)["structure"]["methods"][0]["contexts"]
    assert contexts[0]["examples"] == ["does thing 1"]


@pytest.mark.proves("S2-ENG-02", "S2-ARCH-03")
def test_without_an_agent_the_run_stops_at_the_words_and_names_the_setting(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open(architect="")
    with pytest.raises(Refused) as refused:
        shop.cover()
    assert refused.value.details["stage"] == "test-architect"
    assert "{BEHAVIOR_DESCRIPTION} is left" in refused.value.message
    assert "[run.rspec] test-architect = [" in refused.value.remedy
    assert is_completed(shop.document(BOOK), "isolation-decider")


def test_a_command_for_rspec_that_comes_with_the_repository_needs_consent(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open(settings='[pack.rspec]\nrspec = ["rspec", "--tag", "~slow"]\n')
    path = shop.root / "moot.toml"
    path.write_text(path.read_text().replace("~slow", "~sluggish"))
    with pytest.raises(Refused, match="Nobody has allowed the command that runs RSpec"):
        shop.cover()
    shop.allow()
    assert shop.cover().files[0].tests_passed


@pytest.mark.proves("S2-RESP-03")
def test_an_earlier_quoted_answer_is_ignored(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open("quotes")
    assert shop.cover().files[0].tests_passed


@pytest.mark.proves("S2-META-04")
def test_a_behaviour_that_a_person_switches_off_has_no_example(shop: Shop) -> None:
    shop.stock("models/book")
    shop.open("silent")
    with pytest.raises(Refused):
        shop.cover()
    path = f"tmp/rspec_metadata/{BOOK}.yml"
    shop.write(path, shop.file(path).replace("raises ArgumentError", "takes copies from the stock"))
    shop.behave("honest")
    shop.rspec("resume")
    assert 'it "takes copies from the stock"' in shop.file("spec/models/book_spec.rb")


@pytest.mark.proves("S2-ENG-02")
def test_without_a_command_the_run_stops_before_the_stage_and_names_the_setting(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open()
    path = shop.root / "moot.toml"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith("test-impl")))
    with pytest.raises(Refused, match=r"needs a command: moot.toml does not set run.rspec.test-implementer"):
        shop.cover()
    assert is_completed(shop.document(CUSTOMER), "test-architect")


@pytest.mark.proves("S2-MECH-03", "S2-PRE-01", "S2-PRE-02")
def test_a_single_stage_needs_only_the_slug_and_its_predecessors(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open("silent")
    with pytest.raises(Refused):
        shop.cover()
    with pytest.raises(Refused, match="test-implementer"):
        shop.rspec("stage", slug=CUSTOMER, name="test-reviewer")
    shop.behave("honest")
    assert shop.rspec("stage", slug=CUSTOMER, name="test-implementer").outcome == "passed"
    done = shop.rspec("stage", slug=CUSTOMER, name="test-reviewer")
    assert done.answer["tests_passed"] is True
    (shop.root / "spec/models/customer_spec.rb").unlink()
    with pytest.raises(Refused, match=r"test-implementer|spec"):
        shop.rspec("stage", slug=CUSTOMER, name="test-reviewer")


@pytest.mark.proves("S2-MECH-03", "S2-REC-01")
def test_after_a_failed_gate_a_stage_runs_again_by_its_name_on_what_a_person_repaired(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.write("Gemfile", "")
    shop.open("evades")
    with pytest.raises(Refused, match="Tests of wave 0 failed"):
        shop.cover()
    path = "spec/models/customer_spec.rb"
    shop.write(path, shop.file(path).replace("next", "# repaired by hand"))
    shop.behave("honest")
    assert shop.rspec("stage", slug=CUSTOMER, name="test-implementer").outcome == "passed"
    assert shop.rspec("stage", slug=CUSTOMER, name="test-reviewer").answer["tests_passed"] is True
    shop.write("app/models/customer.rb", shop.file("app/models/customer.rb") + "# edited\n")
    with pytest.raises(Refused, match="must run again"):
        shop.rspec("stage", slug=CUSTOMER, name="test-implementer")


@pytest.mark.proves("S2-REC-02")
def test_deleting_the_document_starts_it_over(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open("silent")
    with pytest.raises(Refused):
        shop.cover()
    (shop.root / f"tmp/rspec_metadata/{CUSTOMER}.yml").unlink()
    shop.behave("honest")
    report = shop.rspec("resume")
    assert report.files[0].tests_passed
    assert all(is_completed(shop.document(CUSTOMER), agent) for agent in AGENTS)


SHELF = """\
class Shelf{0}
  def initialize(book)
    @book = book
  end

  def full?
    return true if @book.stock > 9

    false
  end
end
"""


@pytest.mark.proves("S2-MECH-02", "S2-HARD-16")
def test_twenty_documents_of_one_wave_run_under_a_limit_and_share_one_factory_file(shop: Shop) -> None:
    shop.stock("models/book")
    for number in range(19):
        shop.write(f"app/services/shelf{number}.rb", SHELF.format(number))
    shop.open()
    report = shop.rspec("cover", branch=True, yes=True, limit=4)
    assert len(report.files) == 20
    assert all(one.tests_passed for one in report.files)
    factory = shop.file("spec/factories/books.rb")
    assert factory.count("factory :book") == 1
    assert shop.moot("verify")


def test_the_only_problem_of_a_failed_stage_is_said_once(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open("hollow")
    with pytest.raises(Refused) as refused:
        shop.cover()
    assert refused.value.message.count("has no expectation") == 1


def test_without_rspec_the_error_names_the_setting(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open(settings='[pack.rspec]\nrspec = ["no-such-rspec"]\n')
    with pytest.raises(Refused, match="no-such-rspec cannot be run") as refused:
        shop.cover()
    assert "[pack.rspec] rspec" in refused.value.remedy


@pytest.mark.proves("S2-ISO-06")
def test_a_level_with_low_confidence_is_a_warning_and_an_option_sets_another(shop: Shop) -> None:
    shop.write("app/jobs/mail_job.rb", "class MailJob\n  def perform\n    1\n  end\nend\n")
    shop.open()
    (warning,) = [one for one in shop.cover().all_warnings if "low confidence" in one]
    assert "perform: the level unit" in warning
    report = shop.cover(level="integration")
    assert not [one for one in report.all_warnings if "low confidence" in one]
    (method,) = shop.document("app_jobs_mail_job")["methods"]
    assert (method["test_config"]["test_level"], method["test_config"]["confidence"]) == ("integration", "high")
    assert any("answer: integration, chosen by " in line for line in method["test_config"]["decision_trace"])


@pytest.mark.proves("S2-DISC-16")
def test_an_instruction_stands_word_for_word_in_the_prompts_of_the_agents(shop: Shop) -> None:
    shop.stock("models/customer")
    shop.open()
    shop.cover(instruction="Prefer `aggregate_failures`.")
    prompts = [path.read_text() for path in (shop.root.parent / "prompts").iterdir()]
    assert prompts
    assert all("\nPrefer `aggregate_failures`.\n" in prompt for prompt in prompts)


@pytest.mark.proves("S2-FAIL-02", "S2-FAIL-03", "S2-REC-01")
def test_a_stage_that_failed_is_corrected_by_a_person_and_the_next_ones_pass(shop: Shop) -> None:
    """A user's day: the agent leaves a placeholder, a person fills it in, and the run goes on."""
    shop.stock("models/customer", "services/checkout")
    shop.write("Gemfile", "")
    shop.open("nothing")
    with pytest.raises(Refused):
        shop.cover()
    path = "spec/models/customer_spec.rb"
    value = "described_class.instance_method(:discount).source_location.grep(%r{/app/}).size"
    text = re.sub(r"# \{SETUP_CODE\}.*", f"let(:value) {{ {value} }}", shop.file(path))
    shop.write(path, text.replace('skip "{EXPECTATION}"', "expect(value).to eq(1) # by hand"))
    shop.behave("honest")
    report = shop.rspec("resume")
    assert [one.tests_passed for one in report.files] == [True] * 3
    assert "# by hand" in shop.file(path)
    prompt = next(one for one in (shop.root.parent / "prompts").iterdir() if "last attempt" in one.read_text())
    assert "spec/models/customer_spec.rb:" in prompt.read_text()


@pytest.mark.proves("S2-REC-03")
def test_a_covered_method_is_changed_and_covered_again(shop: Shop) -> None:
    """A user's day: the method gains its first condition, then loses it again."""
    body = "class Till\n  def open(key)\n{}    :open\n  end\nend\n"
    for number, line in enumerate(("", "    return :closed if key.nil?\n", "")):
        shop.write("app/services/till.rb", body.format(line))
        if not number:
            shop.open()
        report = shop.rspec("cover", path="app/services/till.rb", yes=True)
        assert [one.tests_passed for one in report.files] == [True]
        document = shop.document("app_services_till")
        assert len(document["methods"][0].get("characteristics") or []) == bool(line)
        assert ("closed" in str(document)) == bool(line), "nothing of an old analysis is left"
