"""Stands where three coding agents would be: test-architect, factory-agent and test-implementer. It knows no moot.

It gets its task on standard input, edits the files that the task names, and answers in YAML.
"""

import re
import sys
from pathlib import Path

FACTORIES = {
    "books": "  factory :book do\n    skip_create\n    title { 'Emma' }\n    price { 10 }\n    stock { 7 }\n  end\n",
    "customers": "  factory :customer do\n    skip_create\n    name { 'Jane' }\n  end\n",
}
# What an expert would say where the code says nothing of what a method does.
WORDS = {
    "#sell": "takes the copies from the stock",
    "#total": "returns the reduced price",
    ".reduced": "returns the amount without the discount",
    "#order": "returns ten new copies",
}
# What an expert would write for each example: the setup of its context, and the expectation.
TESTS = {
    ("#sell", WORDS["#sell"]): (
        "let(:book) { build(:book, stock: 5) }",
        "expect { book.sell(2) }.to change(book, :stock).from(5).to(3)",
    ),
    ("#sell", "raises ArgumentError"): (
        "let(:book) { build(:book, stock: 1) }",
        "expect { book.sell(2) }.to raise_error(ArgumentError)",
    ),
    ("#discount", "returns 20"): (
        'let(:customer) { build(:customer, status: "gold") }',
        "expect(customer.discount).to eq(20)",
    ),
    ("#discount", "returns 0"): (
        'let(:customer) { build(:customer, status: "new") }',
        "expect(customer.discount).to eq(0)",
    ),
    ("#discount", "raises ArgumentError"): (
        'let(:customer) { build(:customer, status: "blocked") }',
        "expect { customer.discount }.to raise_error(ArgumentError)",
    ),
    (".reduced", WORDS[".reduced"]): ("let(:amount) { 200 }", "expect(described_class.reduced(amount, 10)).to eq(180)"),
    ("#total", "returns 0"): (
        "subject(:checkout) { described_class.new(Customer.new, Book.new(price: 10)) }",
        "expect(checkout.total(0)).to eq(0)",
    ),
    ("#total", WORDS["#total"]): (
        'subject(:checkout) { described_class.new(Customer.new(status: "gold"), Book.new(price: 10)) }',
        "expect(checkout.total(3)).to eq(24)",
    ),
    ("#order", "returns nil"): (
        "subject(:restocking) { described_class.new(Book.new(stock: 5)) }",
        "expect(restocking.order).to be_nil",
    ),
    ("#order", WORDS["#order"]): (
        "subject(:restocking) { described_class.new(Book.new(stock: 4)) }",
        "expect(restocking.order.stock).to eq(10)",
    ),
}


def paths(task: str, role: str) -> list[Path]:
    return [Path(path) for path in re.findall(rf"^- {role}: `([^`]+)`", task, re.MULTILINE)]


def make_factories(task: str) -> str:
    made = []
    for path in (folder / f"{name}.rb" for folder in paths(task, "factories") for name in FACTORIES):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                f"# frozen_string_literal: true\n\nFactoryBot.define do\n{FACTORIES[path.stem]}end\n", encoding="utf-8"
            )
            made.append(f"    - path: {path}\n      traits_added: []")
    if not made:
        return "status: skip\nskip_reason: All factories exist"
    return "status: success\ndata:\n  files_created:\n" + "\n".join(made)


def word_examples(task: str) -> str:
    (spec,) = paths(task, "spec")
    lines, method = spec.read_text(encoding="utf-8").splitlines(), ""
    for number, line in enumerate(lines):
        if match := re.match(r'  describe "(.*)" do', line):
            method = match[1]
        lines[number] = line.replace("{BEHAVIOR_DESCRIPTION}", WORDS.get(method, ""))
    spec.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"status: success\nspec_file: {spec}"


def write_tests(task: str) -> str:
    (spec,) = paths(task, "spec")
    lines, method = spec.read_text(encoding="utf-8").splitlines(), ""
    for number, line in enumerate(lines):
        if match := re.match(r'  describe "(.*)" do', line):
            method = match[1]
        if 'skip "{EXPECTATION}"' in line:
            example = re.findall(r'it "(.*)" do', lines[number - 1])[0]
            setup, expectation = TESTS[method, example]
            lines[number] = line.replace('skip "{EXPECTATION}"', expectation)
            above = max(n for n in range(number) if "{SETUP_CODE}" in lines[n])
            lines[above] = lines[above].partition("#")[0] + setup
    spec.write_text("\n".join(lines) + "\n", encoding="utf-8")
    count = sum(line.strip().startswith("it ") for line in lines)
    return f"status: success\ndata:\n  files_created:\n    - path: {spec}\n      examples_count: {count}"


def main() -> None:
    task = sys.stdin.read()
    roles = {"test-architect": word_examples, "factory-agent": make_factories, "test-implementer": write_tests}
    answer = next(does for role, does in roles.items() if task.startswith(f"You are {role}."))(task)
    sys.stdout.write(f"I have done it.\n\n```yaml\n{answer}\n```\n")


main()
