"""What may be added to files of factories, and what changes something that is there."""

from __future__ import annotations

import pytest

from moot.packs.ruby.factory_additions import factory_findings

OLD = """\
# All items
require 'set'

FactoryBot.define do
  sequence(:number) { |n| n }

  trait :cheap do
    price { 1 }
  end

  factory :item, aliases: [:thing] do # sold
    price { 3 }
    cheap

    trait :big do
      stock { 9 }
    end

    factory :toy do
      big
    end
  end

  factory :shop
end
"""
NEW_FACTORY = """\
  factory :cart do
    owner factory: :item
    sequence(:code) { |n| n }
    after(:build) { |one| one.fill }
  end
"""
MODIFY = "FactoryBot.modify do\n  factory(:item) { price { 0 } }\nend\n"
HOOK = "RSpec.configure { |c| c.before { skip } }"
TOY = "    factory :toy do\n      big\n    end\n"
DEFINE = "FactoryBot.define do\n"
TOP = "only `FactoryBot.define` blocks may be added to the file"
IN_DEFINE = "only factories may be added to the `FactoryBot.define` block"
IN_FACTORY = "only traits and factories may be added to a factory"


def found(new: str | dict[str, str], old: str | dict[str, str] = OLD) -> list[str]:
    files = [
        {path: data.encode() for path, data in ({"f.rb": one} if isinstance(one, str) else one).items()}
        for one in (old, new)
    ]
    return [f"{one.path}:{one.line}: {one.text}" for one in factory_findings(*files)]


def with_line(line: str, *, after: str) -> str:
    assert OLD.count(after) == 1
    return OLD.replace(after, f"{after}{line}\n")


@pytest.mark.proves("S2-FACT-02")
@pytest.mark.parametrize(
    "new",
    [
        OLD,
        f"# another comment\n{OLD}",
        with_line("    trait(:old) { year { 1 } }", after="    cheap\n"),
        with_line(
            "    # heavy\n    trait :heavy do\n      weight { <<~END }\n        9\n      END\n    end",
            after="    cheap\n",
        ),
        with_line("    factory(:game) { price { 4 } }", after="    cheap\n"),
        with_line("    trait(:heavy) { }", after="      big\n"),
        OLD.replace("  factory :shop\n", "  factory :shop do\n    trait(:big) { size { 9 } }\n  end\n"),
        OLD.replace("  factory :shop\n", "  factory(:car, class: 'Vehicle', parent: :item) { }\n  factory :shop\n"),
        OLD.replace("  factory :shop\n", f"{NEW_FACTORY}  factory :shop\n"),
        f"FactoryBot.define do\n{NEW_FACTORY}end\n{OLD}",
        f"{OLD}\nFactoryBot.define do\n{NEW_FACTORY}end\n",
        f"# frozen_string_literal: true\n\n{OLD}",
        OLD.replace("\n\n", "\n"),
    ],
    ids=[
        *(
            "nothing",
            "a comment",
            "a trait",
            "a trait with a text",
            "a factory in a factory",
            "a trait of an inner one",
        ),
        *("a block", "a factory with a parent", "a factory", "a define block before", "a define block after"),
        *("how Ruby reads strings", "blank lines"),
    ],
)
def test_factories_and_traits_with_new_names_may_be_added(new: str) -> None:
    assert found(new) == []


@pytest.mark.proves("S2-FACT-02")
def test_a_new_file_may_have_factories_comments_and_what_it_requires() -> None:
    new = f"# frozen_string_literal: true\n\nrequire 'set'\n\nFactoryBot.define do\n{NEW_FACTORY}end\n"
    assert found({"f.rb": OLD, "g.rb": new}) == []


@pytest.mark.proves("S2-FACT-02")
@pytest.mark.parametrize(
    ("new", "said"),
    [
        (f"return\n{OLD}", f"1: `return` was added: {TOP}"),
        (f"{OLD}class Item\n  def sell = 1\nend\n", f"26: `class Item` was added: {TOP}"),
        (f"{MODIFY}{OLD}", f"1: `FactoryBot.modify do` was added: {TOP}"),
        (f"{OLD}{HOOK}\n", f"26: `{HOOK}` was added: {TOP}"),
        (f"require './evil'\n{OLD}", f"1: `require './evil'` was added: {TOP}"),
        (f"{OLD}__END__\n", f"26: `__END__` was added: {TOP}"),
        (f"FactoryBot.define(Item.freeze) do\nend\n{OLD}", "1: `FactoryBot.define(Item.freeze) do` was added"),
        (with_line("  to_create { }", after=DEFINE), f"5: `to_create {{ }}` was added: {IN_DEFINE}"),
        (with_line("  return", after=DEFINE), f"5: `return` was added: {IN_DEFINE}"),
        (with_line("  trait(:dear) { }", after=DEFINE), f"5: `trait(:dear) {{ }}` was added: {IN_DEFINE}"),
        (with_line("  factory(:car) { } if false", after=DEFINE), "5: `factory(:car) { } if false` was"),
        (with_line("  factory(name) { }", after=DEFINE), "5: `factory(name) { }` was added"),
        (with_line("    stock { 9 }", after="    cheap\n"), f"14: `stock {{ 9 }}` was added: {IN_FACTORY}"),
        (with_line("    initialize_with { new }", after="    cheap\n"), "14: `initialize_with { new }` was added"),
        (with_line("    trait(word) { }", after="    cheap\n"), f"14: `trait(word) {{ }}` was added: {IN_FACTORY}"),
        (with_line("    stock { 9 }", after="    price { 1 }\n"), "7: the trait cheap was changed"),
        (
            with_line("      price { 9 }", after="      stock { 9 }\n"),
            "15: the trait big of the factory item was changed",
        ),
    ],
)
def test_nothing_else_may_be_added(new: str, said: str) -> None:
    assert any(one.startswith(f"f.rb:{said}") for one in found(new)), found(new)


@pytest.mark.proves("S2-FACT-02")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# All items\n", "", "0: `# All items` was changed or removed (line 1 before)"),
        (" # sold", "", "11: `# sold` was changed or removed (line 11 before)"),
        ("{ |n| n }", "{ |n| n + 1 }", "4: `sequence(:number) { |n| n }` was changed or removed (line 5 before)"),
        ("price { 3 }", "price { 4 }", "11: `price { 3 }` was changed or removed (line 12 before)"),
        ("price { 1 }", "price { 2 }", "7: the trait cheap was changed"),
        ("aliases: [:thing]", "class: 'A'", f"11: the factory item was changed; {IN_FACTORY}"),
        ("  factory :shop\n", "", "4: the factory shop was removed (line 24 before)"),
        ("      big\n", "", "19: `big` was changed or removed (line 20 before)"),
        ("  factory :shop\n", "  factory :shop do |one|\n  end\n", f"24: the factory shop was changed; {IN_FACTORY}"),
        ("  factory :shop\n", "=begin\n  factory :shop\n=end\n", "4: the factory shop is no longer code, or"),
        ("  factory :shop\n", "  if false\n  factory :shop\n  end\n", "4: the factory shop is no longer code"),
        ("  sequence(:number) { |n| n }\n", "  x = <<~E\n  sequence(:number) { |n| n }\n  E\n", "4: `sequence("),
        (f"{TOY}  end\n", f"  end\n{TOY}", "11: the factory toy is no"),
        ("    price { 3 }\n    cheap\n", "    cheap\n    price { 3 }\n", "11: `cheap` is no longer code"),
        ("FactoryBot.define do\n", "FactoryBot.define do |x|\n", "0: `FactoryBot.define do` was changed or removed"),
    ],
)
def test_what_is_there_stays_in_its_place(old: str, new: str, said: str) -> None:
    assert OLD.count(old) == 1
    assert any(one.startswith(f"f.rb:{said}") for one in found(OLD.replace(old, new))), found(OLD.replace(old, new))


@pytest.mark.proves("S2-FACT-02")
@pytest.mark.parametrize(
    ("line", "after", "said"),
    [
        ("    trait(:big) { }", "    cheap\n", "the trait big of the factory item already exists"),
        ("    trait(:cheap) { }", "    cheap\n", "the trait cheap of the factory item would hide the trait cheap"),
        ("    trait(:big) { }", "      big\n", "the trait big of the factory item already exists"),
        ("    trait(:a) { }\n    trait(:a) { }", "    cheap\n", "the trait a of the factory item already exists"),
        ("  factory(:thing) { }", DEFINE, "the factory thing already exists in f.rb, line 11"),
        ("  factory(:a, aliases: [:toy]) { }", DEFINE, "the factory toy already exists in f.rb, line 19"),
        ("  factory(:a) { factory(:a) { } }", DEFINE, "the factory a already exists"),
        ("  factory(:cheap) { }", DEFINE, "the factory cheap would replace the trait"),
    ],
)
def test_a_new_name_takes_the_place_of_no_other(line: str, after: str, said: str) -> None:
    assert any(said in one for one in found(with_line(line, after=after))), found(with_line(line, after=after))


@pytest.mark.proves("S2-FACT-02")
def test_a_new_file_cannot_define_a_factory_of_another_file_again() -> None:
    new = "FactoryBot.define do\n  factory(:item) { price { 0 } }\nend\n"
    assert found({"f.rb": OLD, "a.rb": new}) == ["a.rb:2: the factory item already exists in f.rb, line 11"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("class ::Item; def sell = 1; end", "is not part of a factory"),
        ("Item.class_eval { }", "is not part of a factory"),
        ("trait(:x) { Item.class_eval { } }", "is not part of a factory"),
        ("instance_eval { @definition }", "is not part of a factory"),
        ("price { FactoryBot.modify { } }", "has effects outside of the factory"),
        ("price { def self.x = 1 }", "has effects outside of the factory"),
    ],
)
def test_a_new_factory_has_only_its_own_code(body: str, said: str) -> None:
    files = {"f.rb": OLD, "a.rb": f"FactoryBot.define do\n  factory :car do\n    {body}\n  end\nend\n"}
    assert any(one.startswith("a.rb:3: ") and said in one for one in found(files)), found(files)
    computed = "FactoryBot.define do\n  factory(:car, class: Item.tap { |one| one.freeze }) { }\nend\n"
    assert "must be literals" in found({"f.rb": OLD, "a.rb": computed})[0]


def test_a_factory_may_have_the_name_of_a_trait_and_use_other_factories() -> None:
    text = (
        "  factory :big, parent: :item do\n    shop { FactoryBot.build(:shop) }\n    transient { count { 1 } }\n  end"
    )
    assert found(with_line(text, after=DEFINE), OLD) != []
    assert found(with_line(text.replace(":big", ":large"), after=DEFINE)) == []
    unused = OLD.replace("      big\n", "")
    assert found(unused.replace("FactoryBot.define do\n", f"FactoryBot.define do\n{text}\n"), unused) == []


def test_a_thousand_factories_inside_each_other_are_compared() -> None:
    deep = "FactoryBot.define do\n" + "".join(f"factory :f{n} do\n" for n in range(1000)) + "end\n" * 1001
    assert found(deep.replace("factory :f999 do\n", "factory :f999 do\ntrait(:x) { }\n"), deep) == []
    assert found(deep.replace("factory :f999 do\n", "factory :f999 do\nx { 1 }\n"), deep) != []
