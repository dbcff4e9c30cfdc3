"""Factories and traits, compared with what FactoryBot itself knows after loading the same file."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from moot.packs.ruby.factories import detect_factories, factories

FILE = """\
FactoryBot.define do
  sequence(:email) { |n| "user#{n}@example.com" }

  factory :user, aliases: [:author, :commenter] do
    name { "trait :no" }
    transient { premium { false } }
    # factory :commented_out
    trait(:premium) { plan { "premium" } }
    trait :blocked do
      after(:create) { |user| user.block! }
    end

    factory :admin, class: "Admin::User" do
      trait :super
    end
    factory("guest", parent: :user)
  end

  factory :order, parent: :base do
    after(:build) { |order| order.trait }
    trait :paid do
      status { :paid }
    end
  end
  factory(:base) { trait(:old) { age { 9 } } }
end
"""


def test_factories_have_traits_parents_and_places():
    data = FILE.encode()
    found = {one.name: one for one in factories(data).factories}
    assert {name: [trait.name for trait in one.traits] for name, one in found.items()} == {
        "user": ["premium", "blocked"],
        "admin": ["super"],
        "guest": [],
        "order": ["paid"],
        "base": ["old"],
    }
    assert {name: one.parent for name, one in found.items()} == {
        "user": None,
        "admin": "user",
        "guest": "user",
        "order": "base",
        "base": None,
    }
    assert found["user"].aliases == ("author", "commenter")
    assert found["admin"].class_name == "Admin::User"
    assert (found["user"].first_line, found["user"].last_line) == (4, 17)
    blocked = found["user"].traits[1]
    assert data[blocked.start : blocked.end].startswith(b"trait :blocked do")
    assert (blocked.first_line, blocked.last_line) == (9, 11)
    order = found["order"]
    assert data[order.start : order.body_end].rstrip().endswith(b"end")
    assert data[order.body_end : order.end].strip() == b"end"


REPORT = r"""
require "json"
require "factory_bot"
%w[User Guest Order Base].each { |name| Object.const_set(name, Class.new) }
module Admin; class User < ::User; end; end
load ARGV[0]
report = {}
FactoryBot.factories.each do |factory|
  factory.compile
  names = factory.definition.defined_traits.map { |trait| trait.name.to_s }
  parent = factory
  while (parent = parent.send(:parent)) && !parent.is_a?(FactoryBot::NullFactory)
    names |= parent.definition.defined_traits.map { |trait| trait.name.to_s }
  end
  report[factory.name.to_s] = names.sort
end
puts JSON.generate(report)
"""


@pytest.mark.proves("S1-AN-11")
@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_the_traits_of_a_factory_are_those_that_factory_bot_accepts(tmp_path):
    path = tmp_path / "users.rb"
    path.write_text(FILE)
    run = subprocess.run(["ruby", "-W0", "-e", REPORT, path], capture_output=True, text=True, timeout=60, check=False)
    if "cannot load such file" in run.stderr:
        pytest.skip("factory_bot is not installed")
    assert not run.returncode, run.stderr
    found = detect_factories({"spec/factories/users.rb": FILE.encode()}).found
    assert {name: sorted(one["traits"]) for name, one in found.items()} == json.loads(run.stdout)


@pytest.mark.proves("S1-AN-11")
def test_factories_are_listed_with_their_file():
    found = detect_factories(
        {
            "spec/factories/b.rb": b"FactoryBot.define { factory(:b) { trait(:x) { } } }",
            "spec/factories/a.rb": b"FactoryBot.define { factory :a }",
        }
    )
    assert found.found == {
        "a": {"file": "spec/factories/a.rb", "traits": []},
        "b": {"file": "spec/factories/b.rb", "traits": ["x"]},
    }
    assert found.warnings == ()


@pytest.mark.proves("S1-AN-11")
def test_a_name_defined_twice_keeps_the_last_and_warns():
    found = detect_factories(
        {
            "spec/factories/a.rb": b"FactoryBot.define { factory(:u) { trait(:x) { } } }",
            "spec/factories/b.rb": b"FactoryBot.define { factory(:u) { trait(:y) { } } }",
        }
    )
    assert found.found == {"u": {"file": "spec/factories/b.rb", "traits": ["y"]}}
    assert found.warnings == (
        "Factory :u is defined twice, in spec/factories/a.rb and in spec/factories/b.rb; the last definition is used",
    )


@pytest.mark.proves("S1-AN-11")
def test_no_directory_gives_an_empty_map_and_a_warning():
    found = detect_factories(None)
    assert found.found == {}
    assert found.warnings == ("No factories: neither spec/factories nor test/factories exists",)
    assert detect_factories({}).warnings == ()


@pytest.mark.proves("S1-AN-11")
def test_a_file_that_does_not_parse_gives_a_warning_and_the_others_count():
    found = detect_factories(
        {
            "spec/factories/bad.rb": b"FactoryBot.define do\n  factory :x do\n    (\n",
            "spec/factories/binary.rb": b"\0\1\2",
            "spec/factories/good.rb": b"FactoryBot.define { factory :a }",
        }
    )
    assert list(found.found) == ["a"]
    assert len(found.warnings) == 2
    assert "bad.rb was left out: it does not parse: line" in found.warnings[0]
    assert "binary.rb was left out" in found.warnings[1]


@pytest.mark.parametrize(
    "text",
    [
        "# FactoryBot.define { factory :a }",
        "'FactoryBot.define { factory :a }'",
        "factory :a",
        "FactoryBot.define { factory name }",
        "FactoryBot.define { car.factory :a }",
        "",
    ],
)
def test_text_and_computed_names_are_no_factories(text):
    assert factories(text.encode()).factories == ()


def test_factories_in_a_circle_of_parents_end():
    text = b"FactoryBot.define { factory(:a, parent: :b) { trait(:x) { } }; factory(:b, parent: :a) { trait(:y) { } } }"
    found = detect_factories({"f.rb": text}).found
    assert found["a"]["traits"] == ["x", "y"]
    assert found["b"]["traits"] == ["y", "x"]
