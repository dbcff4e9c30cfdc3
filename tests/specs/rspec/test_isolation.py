"""isolation-decider: the level of each method, what is stubbed, how sure that is, and why."""

from __future__ import annotations

from typing import Any

import pytest

from moot.core.errors import Refused
from moot.core.schema import defects
from moot.packs.rspec.isolation import HTTP_CLIENTS, decide, gems_of, project_type
from moot.packs.rspec.schemas import document_schema
from tests.specs.rspec.test_document_check import document


def one(
    *effects: str,
    model: bool = False,
    client: str = "",
    lines: int = 5,
    zone: str = "green",
    source: str = "app/services/a.rb",
    name: str = "A",
    needs: int = 0,
    project: str = "rails",
    answer: str = "",
) -> dict[str, Any]:
    """The configuration of one method with these signals."""
    characteristics = [{"name": "c", "setup": {"type": "model" if model else "data", "class": None}}]
    method = {
        "name": "m",
        "type": "instance",
        "method_mode": "new",
        "side_effects": [{"type": effect, "behavior_id": effect} for effect in effects],
        "characteristics": characteristics,
        "dependencies": [*([client] if client else ()), *(f"D{number}" for number in range(needs))],
    }
    given = {
        "source_file": source,
        "class_name": name,
        "complexity": {"zone": zone, "loc": 10, "methods": 1},
        "methods_to_analyze": [{"name": "m", "line_range": [1, lines], "selected": True}],
        "methods": [method],
    }
    return decide(given, project, answer, "Ada", {"Payment": "model", "Mailer": "queue"}).methods[0]["test_config"]


def short(config: dict[str, Any]) -> tuple[str, str, str, str]:
    isolation = config["isolation"]
    return config["test_level"], isolation["db"], isolation["external_http"], isolation["queue"]


@pytest.mark.proves("S2-ISO-01")
def test_selected_methods_get_a_full_configuration_and_others_stay_untouched() -> None:
    given = document()
    given["methods_to_analyze"][1]["selected"] = False
    made = decide(given, "rails").methods
    schema = {"$ref": "#/$defs/test_config", "$defs": document_schema()["$defs"]}
    assert defects(schema, made[0]["test_config"]) == []
    assert made[0] == {**given["methods"][0], "test_config": made[0]["test_config"]}
    assert made[1] == given["methods"][1]


@pytest.mark.proves("S2-ISO-02")
@pytest.mark.parametrize(
    ("names", "gems", "configured", "expected"),
    [
        (["a.gemspec", "Gemfile"], ["rails"], "auto", "library"),
        (["Gemfile"], ["rails", "sinatra"], "auto", "rails"),
        ([], ["roda"], "auto", "web"),
        ([], ["hanami"], "auto", "web"),
        ([], ["sinatra"], "auto", "web"),
        ([], ["grape"], "auto", "web"),
        ([], ["rake"], "auto", "service"),
        (["a.gemspec"], ["rails"], "service", "service"),
    ],
)
def test_the_project_type_is_found_in_this_order(
    names: list[str], gems: list[str], configured: str, expected: str
) -> None:
    assert project_type(names, gems, configured) == expected


@pytest.mark.proves("S2-ISO-02")
def test_gems_come_from_the_gemfile_and_its_lock() -> None:
    gemfile = "source 'x'\ngem 'rails', '~> 7'\n# gem 'sinatra'\n  gem(\"roda\")\n"
    lock = "GEM\n  specs:\n    rake (13.0)\n    rspec-core (3.12.0)\n      rspec-support (~> 3.12)\n"
    assert gems_of(gemfile, lock) == {"rails", "roda", "rake", "rspec-core"}


@pytest.mark.proves("S2-ISO-03")
def test_dependencies_are_signals() -> None:
    for client in HTTP_CLIENTS:
        assert short(one(client=client)) == ("unit", "none", "stubbed", "none"), client
    assert short(one(client="Payment")) == ("unit", "stubbed", "none", "none")
    assert short(one(client="Mailer")) == ("unit", "none", "none", "stubbed")
    assert short(one(client="PaymentGateway")) == ("unit", "none", "none", "none")


@pytest.mark.proves("S2-ISO-03")
@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ("cache", ("unit", "stubbed", "none", "none")),
        ("external_api", ("unit", "none", "stubbed", "none")),
        ("event", ("unit", "none", "none", "stubbed")),
        ("webhook", ("unit", "none", "none", "stubbed")),
        ("email", ("unit", "none", "none", "stubbed")),
    ],
)
def test_each_side_effect_is_a_signal(effect: str, expected: tuple[str, ...]) -> None:
    assert short(one(effect)) == expected


@pytest.mark.proves("S2-ISO-04")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("unit", "none", "none", "none")),
        ({"model": True}, ("unit", "stubbed", "none", "none")),
        ({"model": True, "lines": 20}, ("unit", "stubbed", "none", "none")),
        ({"model": True, "lines": 21}, ("integration", "real", "none", "none")),
        ({"model": True, "zone": "yellow"}, ("integration", "real", "none", "none")),
        ({"model": True, "zone": "red"}, ("integration", "real", "none", "none")),
        ({"model": True, "needs": 1}, ("unit", "stubbed", "none", "none")),
        ({"model": True, "needs": 2}, ("integration", "real", "none", "none")),
        ({"model": True, "client": "HTTP"}, ("unit", "stubbed", "stubbed", "none")),
        ({"model": True, "lines": 99, "project": "library"}, ("unit", "stubbed", "none", "none")),
        ({"model": True, "source": "app/controllers/a.rb"}, ("request", "real", "none", "none")),
        ({"client": "HTTP", "source": "app/controllers/a.rb"}, ("request", "real", "stubbed", "none")),
        ({"source": "app/controllers/a.rb"}, ("unit", "none", "none", "none")),
        ({"model": True, "source": "app/jobs/a.rb"}, ("integration", "real", "none", "none")),
        ({"model": True, "source": "app/workers/a.rb"}, ("integration", "real", "none", "none")),
        ({"model": True, "name": "SyncJob"}, ("integration", "real", "none", "none")),
    ],
)
def test_level_and_isolation_follow_the_rules(given: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert short(one(**given)) == expected


@pytest.mark.proves("S2-ISO-05")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "high"),
        ({"zone": "yellow"}, "medium"),
        ({"model": True, "client": "HTTP"}, "medium"),
        ({"zone": "red"}, "low"),
        ({"zone": "red", "lines": 20}, "low"),
        ({"source": "app/controllers/a.rb"}, "low"),
        ({"source": "app/jobs/a.rb"}, "low"),
    ],
)
def test_confidence_falls_with_doubts(given: dict[str, Any], expected: str) -> None:
    assert one(**given)["confidence"] == expected


@pytest.mark.proves("S2-ISO-06")
@pytest.mark.parametrize(
    ("level", "expected"),
    [("unit", "stubbed"), ("integration", "real"), ("request", "real")],
)
def test_an_answer_settles_low_confidence_and_is_in_the_trace(level: str, expected: str) -> None:
    config = one(model=True, zone="red", answer=level)
    assert (config["test_level"], config["isolation"]["db"], config["confidence"]) == (level, expected, "high")
    assert f"answer: {level}, chosen by Ada" in config["decision_trace"]


@pytest.mark.proves("S2-ISO-06")
def test_all_unclear_methods_of_a_file_are_named_together() -> None:
    given = document() | {"complexity": {"zone": "red", "loc": 400, "methods": 20}}
    assert decide(given, "rails").unclear == ("process", "refund")
    assert decide(given, "rails", "integration").unclear == ()


@pytest.mark.proves("S2-ISO-07")
def test_the_trace_names_every_signal_and_rule() -> None:
    trace = "\n".join(one("email", model=True, client="Faraday", lines=30)["decision_trace"])
    for part in ("database, c is set up by a model", "HTTP client Faraday", "email side effect email", "more than 20"):
        assert part in trace
    for part in ("project type: rails", "file type: other", "zone: green", "lines: 30", "rule: ", "isolation: db real"):
        assert part in trace


@pytest.mark.proves("S2-ISO-07", "S2-ENR-04")
def test_a_method_without_a_mode_fails_with_its_name() -> None:
    given = document()
    del given["methods"][1]["method_mode"]
    with pytest.raises(Refused, match="refund") as refused:
        decide(given, "rails")
    assert refused.value.code == "no_method_mode"
