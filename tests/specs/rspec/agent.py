"""A scripted agent: `agent.py BEHAVIOUR`. It gets its prompt on standard input, as a real one does.

It does the work of factory-agent or test-implementer, whichever the prompt asks for: honestly, or not.
"""

import os
import re
import sys
import time
from pathlib import Path

import yaml


def paths(prompt: str, role: str) -> list[Path]:
    return [Path(path) for path in re.findall(rf"^- {role}: `([^`]+)`", prompt, re.MULTILINE)]


def say(text: str) -> None:
    print(f"Done.\n\n```yaml\n{text.strip()}\n```")


def make_factories(prompt: str) -> None:
    lines = ["status: success", "data:", "  files_created:"]
    for folder in paths(prompt, "factories"):
        source = paths(prompt, "source")[0]
        name = re.sub(r"\W", "_", source.stem) if source.parent.name == "models" else "book"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}s.rb"
        if path.exists():
            continue
        path.write_text(
            f"FactoryBot.define do\n  factory :{name} do\n    skip_create\n\n    trait :plain do\n    end\n  end\nend\n"
        )
        lines += [f"    - path: {path}", "      traits_added: [plain]"]
    say("\n".join(lines) if len(lines) > 3 else "status: skip\nskip_reason: All factories exist")


def value(name: str) -> str:
    """Ruby that is 1 for a method of the application, whatever it does, and 0 for one in its place."""
    found = "described_class.instance_method" if name[0] == "#" else "described_class.method"
    return f"let(:value) {{ {found}({name[1:]!r}).source_location.grep(%r{{/(app|lib)/}}).size }}"


def fill(text: str) -> str:
    parts = re.split(r"(?m)^(?=  describe \"[#.])", text)
    for number, part in enumerate(parts):
        if named := re.match(r'  describe "([^"]+)" do', part):
            parts[number] = re.sub(r"# \{SETUP_CODE\}.*", lambda _, name=named[1]: value(name), part)
    text = "".join(parts)
    return text.replace('skip "{EXPECTATION}"', "expect(value).to eq(1)")


def document_in(prompt: str) -> dict:
    return yaml.safe_load(prompt.partition("## The document\n\n```yaml\n")[2].partition("```")[0])


def blocks(prompt: str) -> list[str]:
    """The names of the methods in the structure of the prompt's document."""
    return [method["name"] for method in document_in(prompt)["structure"]["methods"]]


def examples(spec: Path, names: list[str]) -> int:
    found, inside = 0, False
    for line in spec.read_text().splitlines():
        if match := re.match(r'  describe "([^"]+)" do', line):
            inside = match[1] in names
        found += inside and line.strip().startswith("it ")
    return found


MINE = '  it "is mine" do\n    expect(described_class.name).not_to be_empty\n  end\n\n'


def meanwhile(text: str) -> str:
    """What a person writes into the file while the agent works: moot cannot tell them apart."""
    head, describe, rest = text.partition('  describe "')
    return f"{head}{MINE}{describe}{rest}"


HIDING = "around { |one| one.run; one.example.instance_variable_set(:@exception, nil) }"


def implement(prompt: str, behaviour: str) -> None:
    (spec,) = paths(prompt, "spec")
    before = spec.read_text()
    changes = {
        "honest": fill,
        "nothing": lambda text: text,
        "drops": lambda text: re.sub(r"\n +it \"[^\"]+\" do\n.*?\n +end\n", "\n", fill(text), count=1, flags=re.DOTALL),
        "renames": lambda text: fill(text).replace('context "when', 'context "if', 1),
        "pends": lambda text: fill(text).replace('it "', 'xit "', 1),
        "hollow": lambda text: fill(text).replace("expect(value).to eq(1)", "value", 1),
        "constant": lambda text: fill(text).replace("expect(value).to eq(1)", "expect(true).to be(true)", 1),
        "leaves": lambda text: fill(text).replace("expect(value)", "next\n        expect(value)", 1),
        "swallows": lambda text: f"RSpec.configure {{ |c| c.around {{ |one| }} }}\n{fill(text)}",
        "evades": lambda text: fill(text).replace("expect(value)", "next if value\n        expect(value)", 1),
        "repairs": lambda text: fill(text).replace("eq(2)", "eq(1)" if "test_reviewer: failed" in prompt else "eq(3)"),
        "fails": lambda text: fill(text).replace("eq(1)", "eq(2)", 1) if "Book" in text else fill(text),
        "steals": lambda text: re.sub(r'  it "has a title" do\n.*?\n  end\n', "", fill(text), flags=re.DOTALL),
        "hides": lambda text: (
            fill(text).replace("eq(1)", "eq(2)").replace("let(:value)", f"{HIDING}\n      let(:value)")
        ),
        "beside": lambda text: meanwhile(fill(text)) if "is mine" not in text else text,
        "broken": lambda text: fill(text) + "x = (\n",
    }
    spec.write_text(changes.get(behaviour, fill)(before))
    count = examples(spec, blocks(prompt))
    if behaviour == "stray":
        Path("app/models/stray.rb").write_text("class Stray; end\n")
    if behaviour == "hooks":
        Path(".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    if behaviour == "rigs":
        Path(".rspec-local").write_text("--require ./tmp/rigged.rb\n")
        Path(".git/info/exclude").write_text("spec/support/\n")
        options = Path(os.environ["XDG_CONFIG_HOME"], "rspec/options")
        options.parent.mkdir(parents=True)
        options.write_text("--require ./tmp/rigged.rb\n")
        Path("spec/support").mkdir()
        Path("spec/support/rigged.rb").write_text("module RSpec::Expectations; def self.fail_with(*) = nil; end\n")
    if behaviour == "overcounts":
        count += 1
    answer = f"status: success\ndata:\n  files_created:\n    - path: {spec}\n      examples_count: {count}"
    if behaviour == "warns":
        answer += '\n  warnings: ["Factory trait :premium not found"]'
    if behaviour == "foreign":
        answer += "\n  behaviors: []"
    if behaviour == "quotes":
        say("status: error\nerror: quoted from an earlier run")
    if behaviour == "trailing":
        say(answer)
        say("status: error\nerror: I changed my mind")
        return
    say(answer)


def reword(prompt: str, behaviour: str) -> None:
    """Put words in the place of placeholders, and say what the file has then."""
    (spec,) = paths(prompt, "spec")
    numbers = iter(range(1, 10_000))
    text = re.sub(r"\{CONDITION\}", lambda _: f"case {next(numbers)} holds", spec.read_text())
    text = re.sub(r"\{BEHAVIOR_DESCRIPTION\}", lambda _: f"does thing {next(numbers)}", text)
    if behaviour == "beside" and "is mine" not in text:
        text = meanwhile(text)
    if behaviour == "recodes":
        text = text.replace("# {SETUP_CODE}", "# done", 1)
    spec.write_text(text)
    say(f"status: success\nspec_file: {spec}")


def silent_about(source: Path) -> bool:
    """Whether a test wants no answer for this source: its path is in a file beside the repository."""
    wish = Path("../silent")
    return wish.exists() and wish.read_text() == str(source)


def main() -> None:
    prompt, behaviour = sys.stdin.read(), sys.argv[1]
    with open("../agents.log", "a", encoding="utf-8") as file:
        # The wording does not belong to what most tests are about.
        if "You are test-architect" not in prompt:
            file.write(f"{prompt.split('.')[0]}: {paths(prompt, 'source')[0]}\n")
    prompts = Path("../prompts")
    prompts.mkdir(exist_ok=True)
    (prompts / f"{len(list(prompts.iterdir()))}.md").write_text(prompt)
    if "You are factory-agent" in prompt:
        make_factories(prompt)
        return
    if "You are test-architect" in prompt:
        reword(prompt, behaviour)
        return
    if silent_about(paths(prompt, "source")[0]):
        return
    if behaviour == "hangs":
        time.sleep(600)
    if behaviour == "crashes":
        os.kill(os.getpid(), 9)
    if behaviour == "silent" or (behaviour == "trips" and "#total" in blocks(prompt) and not Path("../calm").exists()):
        return
    if behaviour == "marker":
        for path in Path("tmp/rspec_metadata").glob("*.yml"):
            path.write_text(path.read_text().replace("implementer_completed: false", "implementer_completed: true"))
        say("status: success\ndata:\n  files_created: []")
        return
    implement(prompt, behaviour)


main()
