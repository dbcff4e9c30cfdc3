"""A scripted agent command: does the stage that its prompt asks for, well or in the way that its argument says.

It runs as a program of its own, so it imports nothing of moot.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

SETUP = {
    "user_authenticated: user_authenticated": "let(:user) { User.new(true) }",
    "user_authenticated: not_user_authenticated": "let(:user) { User.new(false) }",
    "amount: > 10": "let(:amount) { 11 }",
    "amount: <= 10": "let(:amount) { 1 }",
}
RESULTS = {
    "amount: > 10": ":large",
    "amount: <= 10": ":small",
    "user_authenticated: not_user_authenticated": ":refused",
}
TEXTS = {":large": "pays a large amount", ":small": "pays a small amount", ":refused": "refuses the payment"}
SUCCESS = "```yaml\nstatus: success\nwarnings: []\n```\n"


def architect(text: str) -> str:
    """Take the suggested words, and describe each example by its result."""
    lines, word, state = [], "", ""
    for line in text.splitlines():
        if "suggested: " in line:
            word = line.rpartition("suggested: ")[2]
        elif "TODO: architect: describe" not in line:
            if "{SETUP_CODE} " in line:
                state = line.partition("{SETUP_CODE} ")[2]
            described = TEXTS.get(RESULTS.get(state, ""), "returns a value")
            lines.append(line.replace("{CONTEXT_WORD}", word).replace("{BEHAVIOR_DESCRIPTION}", described))
    return "\n".join(lines) + "\n"


def implement(text: str, user: str = "", *, untidy: bool = False) -> str:
    """Fill in setup and expectations."""
    lines, state, fresh = [], "", False
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if "TODO: implementer" in line:
            fresh = True
            continue
        if fresh and "let(:payment_instance)" in line:
            lines += [line, f"{indent}let(:amount) {{ 5 }}"]
        elif "{SETUP_CODE} " in line:
            state = line.partition("{SETUP_CODE} ")[2]
            setup = SETUP.get(state, "let(:unused) { nil }")
            lines.append(indent + (f"let(:user) {{ {user} }}" if user and "User.new(true)" in setup else setup))
        elif "{EXPECTATION}" in line:
            found = RESULTS.get(state, "1")
            lines.append(f"{indent}expect(result).to eq({f' {found}' if untidy else found})")
        else:
            lines.append(line.replace("payment_instance.process }", "payment_instance.process(user, amount) }"))
    return "\n".join(lines) + "\n"


def optimize(text: str) -> str:
    return text.replace("create(:user, authenticated: true)", "build(:user, :signed_in)")


def untidily(text: str) -> str:
    """A better factory call, with a blank that a linter removes."""
    return text.replace("create(:user, authenticated: true)", "build( :user, :signed_in)")


class Request:
    """What the prompt asks for."""

    def __init__(self, prompt: str) -> None:
        self.stage = re.search(r"^# Stage rspec-([\w-]+)", prompt)[1]
        self.spec = Path(re.search(r"^- spec \((?:write|read)\): (.+)$", prompt, re.MULTILINE)[1])
        found = re.search(r"^- metadata document \(read\): (.+)$", prompt, re.MULTILINE)
        self.document = Path(found[1]) if found else Path("no document")

    def work(self, mode: str) -> None:
        user = "create(:user, authenticated: true)" if mode == "create" else ""
        optimized = untidily if mode == "untidy_factories" else optimize
        stages = {"architect": architect, "factory-optimizer": optimized, "reviewer": lambda text: text}
        does = stages.get(self.stage, lambda text: implement(text, user, untidy=mode == "untidy"))
        self.spec.write_text(does(self.spec.read_text()))

    def edit(self, old: str, new: str) -> None:
        """Edit the metadata document."""
        text = self.document.read_text()
        assert old in text
        self.document.write_text(text.replace(old, new))

    # --- lies ---------------------------------------------------------------------------------------------------------

    def marker(self) -> None:
        name = self.stage.replace("-", "_")
        self.edit(f"{name}_completed: false", f"{name}_completed: true")

    def other_form(self) -> None:
        """Claim completion in the other form that the protocol uses."""
        self.document.write_text(f"{self.document.read_text()}architect:\n  completed: true\n")

    other_form_alone = other_form

    def hasty(self) -> None:
        """Set the marker of a later stage."""
        self.edit("polisher_completed: false", "polisher_completed: true")

    def delete(self) -> None:
        """Remove a context with its example."""
        text = self.spec.read_text()
        self.spec.write_text(re.sub(r"\n +context \"when NOT.*?\n    end\n", "\n", text, flags=re.DOTALL))

    def empty(self) -> None:
        self.spec.write_text(self.spec.read_text().replace("expect(result).to eq(:large)", "result"))

    def weaken(self) -> None:
        """Change a test that a person wrote."""
        self.spec.write_text(self.spec.read_text().replace("refund).to eq(1)", "refund).to be_truthy"))

    def resize(self) -> None:
        """Change a factory call in a test that a person wrote."""
        self.spec.write_text(self.spec.read_text().replace("build(:order, size: 3)", "build(:order, size: 4)"))

    def beside(self) -> None:
        """What a person adds while the agent works: nobody can tell them apart."""
        text = self.spec.read_text()
        if "is mine" not in text:
            mine = "  it 'is mine' do\n    expect(described_class.new.refund).to eq(1)\n  end\n\n"
            self.spec.write_text(text.replace("  it 'refunds'", f"{mine}  it 'refunds'"))

    def restyle(self) -> None:
        self.spec.write_text(self.spec.read_text().replace("it 'refunds'", 'it "refunds"'))

    def fail(self) -> None:
        """Leave a test that does not pass."""
        self.spec.write_text(self.spec.read_text().replace("eq(:large)", "eq(:huge)"))

    def reword(self) -> None:
        self.spec.write_text(self.spec.read_text().replace('"pays a large amount"', '"pays"'))

    def forget(self) -> None:
        """Write the block without what a person has added."""
        self.spec.write_text(re.sub(r" # mine.*", "", self.spec.read_text()))

    def before_each(self, code: str) -> None:
        text = self.spec.read_text()
        self.spec.write_text(
            text.replace('describe "#process" do\n', f'describe "#process" do\n    before {{ {code} }}\n')
        )

    def stub_unseen(self) -> None:
        """Test a replacement of the method."""
        code = (
            "k = Payment; k.define_method(:process) { |u, a| u.authenticated ? (a > 10 ? :large : :small) : :refused }"
        )
        self.before_each(code)

    def hide(self) -> None:
        """Make failures impossible while an example runs, and put everything back."""
        text = self.spec.read_text().replace("eq(:large)", "eq(:huge)")
        name = "RSpec::Expectations"
        hook = f"around {{ |e| m = {name}.method(:fail_with); {name}.define_singleton_method(:fail_with) {{ |*| }}; "
        hook += f"e.run; {name}.define_singleton_method(:fail_with, m) }}"
        hook = hook.replace(name, "Object.const_get(:RSpec)::Expectations")
        self.spec.write_text(text.replace('describe "#process" do\n', f'describe "#process" do\n    {hook}\n'))

    def foreign_key(self) -> None:
        self.edit("test_level: unit", "test_level: request")

    def unknown_key(self) -> None:
        self.edit("factories_detected:", "note: kept\nfactories_detected:")

    def source(self) -> None:
        Path("app/services/payment.rb").write_text("class Payment; end\n")

    def factories(self) -> None:
        Path("spec/factories").mkdir(exist_ok=True)
        Path("spec/factories/stray.rb").write_text("FactoryBot.define { }\n")

    def hang(self) -> None:
        time.sleep(600)

    def on_demand(self) -> None:
        """Crash, if somebody wants that."""
        if Path("tmp/crash").exists():
            self.crash()

    def crash(self) -> None:
        sys.stdout.write(SUCCESS)
        sys.exit(3)


ERROR = "```yaml\nstatus: error\nerror: Cannot determine method signature\n```\n"
TRAIT = "Factory trait :premium not found, using attributes"
ANSWERS = {
    "quoted": f"The sample was:\n\n{SUCCESS}\nBut:\n\n{ERROR}",
    "odd_error": '```yaml\nstatus: error\nerror: "a \\"quoted\\" word: - yes # no {x}\\nsecond line"\n```\n',
    "no_answer": "All done!\n",
    "bad_answer": "```yaml\nstatus: maybe\n```\n",
    "warns": f"```yaml\nstatus: success\nwarnings:\n  - {TRAIT}\n```\n",
}


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else "good"
    prompt = sys.stdin.read()
    request = Request(prompt)
    if mode.startswith("keep="):  # the prompt, for the test
        Path(mode.partition("=")[2]).write_text(prompt)
    if mode not in ("marker", "nothing", "other_form_alone"):
        request.work(mode)
    lie = getattr(request, mode, None)
    if lie is not None:
        lie()
    sys.stdout.write(ANSWERS.get(mode, SUCCESS))


if __name__ == "__main__":
    main()
