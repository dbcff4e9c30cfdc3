"""Completion in the shells, tried in the real ones that are installed; and the reference, which is made like it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moot.api import catalogue
from moot.surfaces.cli import completion, man, pack_verbs, reference, shells
from moot.surfaces.cli.main import main
from moot.surfaces.cli.parse import ALIASES
from tests.surfaces.command import PATIENCE, Command, new_command
from tests.surfaces.worlds import enliven, react

ASK = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_moot
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = new_command(tmp_path_factory.mktemp("town"))
    enliven(command)
    tools = command.repo.parent / "bin"
    tools.mkdir()
    (tools / "moot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m moot "$@"\n')
    (tools / "moot").chmod(0o755)
    command.environment["PATH"] = f"{tools}:{command.environment['PATH']}"
    for shell in completion.SHELLS:
        (command.repo.parent / f"moot.{shell}").write_text(command("completion", shell).out)
    (command.repo / "a file.txt").touch()
    return command


def completed(town: Command, line: str, shell: str = "bash") -> list[str]:
    done = subprocess.run(
        [shell, "--norc", "-c", ASK, "ask", str(town.repo.parent / "moot.bash"), line],
        cwd=town.repo,
        env=town.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    return [word for word in done.stdout.splitlines() if word]


def test_bash_completes_verbs_of_one_word_and_of_two(town: Command) -> None:
    firsts = {name.partition(" ")[0] for name in (*catalogue.names(), *pack_verbs.all_names())}
    assert set(completed(town, "moot ")) == firsts | {"as", "help", "completion", *ALIASES}
    assert completed(town, "moot ta") == ["task"]
    assert {f"task {word}" for word in completed(town, "moot task ")} == {
        name for name in catalogue.names() if name.startswith("task ")
    }
    assert completed(town, "moot --json -C . held s") == ["show"]
    assert completed(town, "moot nonsense ") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("moot task add --pri", ["--priority"]),
        ("moot task add --priority ", ["high", "medium", "low"]),
        ("moot task add --priority=", []),
        ("moot task add x --no-review --prio", ["--priority"]),
        ("moot send ", ["Ada", "Bob", "@all"]),
        ("moot send A", ["Ada"]),
        ("moot --agent B", ["Bob"]),
        ("moot --at 3 task claim task-001", ["task-001"]),
        ("moot --at ", []),
        ("moot send Bob hi --task task-00", [f"task-00{n}" for n in (6, 4, 3, 2, 1)]),
        ("moot task claim task-001", ["task-001"]),
        ("moot task link task-001 --needs task-003", ["task-003"]),
        ("moot completion ", ["bash", "zsh", "fish"]),
        ("moot refused-entries s", ["show"]),
        ("moot ask x --task task-003", ["task-003"]),
        ("moot lock --sh", ["--shared"]),
        ("moot help unl", ["unlock"]),
        ("moot import 'a", []),
        ("moot import a", ["a file.txt"]),
        ("moot log --type task:re", ["readied", "rejected", "released", "reopened"]),
        ("moot log --follow --ty", ["--type"]),
        ("moot init --pack ", ["gsd", "orchestrator", "rspec", "rspec-v1"]),
        ("moot task add x --id ", []),
        ("moot -C /nowhere task claim ", []),
    ],
)
def test_bash_completes_options_choices_and_names(town: Command, line: str, words: list[str]) -> None:
    assert completed(town, line) == words


# What zsh and fish offer at the end of a line. In zsh it is the line editor that leaves out what does not fit.
ASKING = {
    "zsh": """
compdef() { }
compadd() { shift; print -l -- "$@" }
_describe() { print -l -- "${(@P)4%%:*}" }
_files() { print -l -- * }
source "$1"
words=("${(@s: :)2}") CURRENT=${#words}
_moot
""",
    "fish": """
source $argv[1]
complete -C $argv[2]
""",
}


def offered(town: Command, shell: str, line: str) -> set[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    quiet = {"zsh": ["-f", "-c", ASKING["zsh"], "ask"], "fish": ["-N", "-c", ASKING["fish"]]}
    done = subprocess.run(
        [program, *quiet[shell], str(town.repo.parent / f"moot.{shell}"), line],
        cwd=town.repo,
        env=town.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    words = {word.partition("\t")[0] for word in done.stdout.splitlines() if word}
    return {word for word in words if word.startswith(line.rpartition(" ")[2])}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("moot ta", {"task"}),
        ("moot task re", {"reject", "release", "reopen"}),
        ("moot --json -C . held s", {"show"}),
        ("moot nonsense ", set()),
        ("moot task add --pri", {"--priority"}),
        ("moot task add --priority ", {"high", "medium", "low"}),
        ("moot task add x --no-review --prio", {"--priority"}),
        ("moot send ", {"Ada", "Bob", "@all"}),
        ("moot send --type request ", {"Ada", "Bob", "@all"}),
        ("moot send --dry-run A", {"Ada"}),
        ("moot send Bob ", set()),
        ("moot --agent B", {"Bob"}),
        ("moot --a", {"--agent", "--at"}),
        ("moot --at 3 task show task-001", {"task-001"}),
        ("moot --at ", set()),
        ("moot send Bob hi --task task-00", {f"task-00{n}" for n in (6, 4, 3, 2, 1)}),
        ("moot task claim --key k task-001", {"task-001"}),
        ("moot completion ", {"bash", "zsh", "fish"}),
        ("moot refused-entries s", {"show"}),
        ("moot ask x --task task-003", {"task-003"}),
        ("moot lock --sh", {"--shared"}),
        ("moot log --type task:re", {"task:readied", "task:rejected", "task:released", "task:reopened"}),
        ("moot init --pack ", {"gsd", "orchestrator", "rspec", "rspec-v1"}),
        ("moot task add x --id ", set()),
        ("moot -C /nowhere task claim ", set()),
        ("moot as ", {"Ada", "Bob"}),
    ],
)
def test_zsh_and_fish_complete_verbs_options_choices_and_names(
    town: Command, shell: str, line: str, words: set[str]
) -> None:
    assert offered(town, shell, line) == words


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_offer_every_verb_and_files_where_files_are_meant(town: Command, shell: str) -> None:
    firsts = {name.partition(" ")[0] for name in (*catalogue.names(), *pack_verbs.all_names())}
    assert offered(town, shell, "moot ") == firsts | {"as", "help", "completion", *ALIASES}
    assert offered(town, shell, "moot import a") == {"a file.txt"}


def test_bash_completes_the_mail_of_the_one_who_asks(town: Command) -> None:
    (request,) = [word for word in completed(town, "moot reply ") if word.startswith("m-")]
    assert completed(town, "moot --agent Bob ack m-") == [request]


def test_bash_completes_what_waits_to_be_settled(bare: Command) -> None:
    names = react(bare)
    receipt = bare("check", "--json", "--", "true").result["receipt"]["id"]
    asked = bare("checkpoint", "reach", "Go on?", "--json", agent="Ada").result["id"]
    found = {kind: bare("complete", kind).out.split() for kind in ("effects", "handlers", "receipts", "needs")}
    assert found == {
        "effects": [names["effect"]],
        "handlers": ["tell"],
        "receipts": [receipt],
        "needs": ["tell", asked],
    }
    script = bare("completion", "bash").out
    for place in (
        "'effects retry '[0-9]*) kind=effects",
        "'effects drop '[0-9]*) kind=effects",
        "'effects --state') kind=words said='waiting failed taken parked not-allowed no-handler'",
        "'handle --allow') kind=handlers",
        "'receipt show 1') kind=receipts",
        "'needs-me --answer') kind=needs",
    ):
        assert place in script


def test_the_names_are_asked_for_in_silence(bare: Command) -> None:
    for kind in completion.KINDS:
        assert bare("complete", kind) == (0, "", ""), "there is no workspace yet"


def test_a_person_who_wants_to_complete_a_task_is_told_how(run: Command) -> None:
    for words in (("task-001",), ("7",), ()):
        ran = run("complete", *words, "--json", agent="Ada")
        assert (ran.code, ran.error["error"]) == (2, "unknown_verb")
        assert "`moot task complete " in ran.error["remedy"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_has_every_verb_and_every_option(town: Command, shell: str) -> None:
    script = (town.repo.parent / f"moot.{shell}").read_text()
    assert re.findall("@[A-Z]+@", script) == [], "nothing is left to be filled in"
    for name in catalogue.names():
        for param in catalogue.find(name).params:
            if not param.positional:
                flag = param.flag[2:]
                assert f"--{flag}" in script or f"-l {flag}" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed: only looked at, not run")
    check = [program, "--no-execute"] if shell == "fish" else [program, "-n"]
    command = [*check, str(town.repo.parent / f"moot.{shell}")]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_unknown_shell_is_answered_with_those_that_there_are(bare: Command) -> None:
    for words in ((), ("tcsh",), ("bash", "zsh")):
        ran = bare("completion", *words, "--json")
        assert ran.code == 2
        assert "bash, zsh, fish" in ran.error["message"]


@pytest.mark.parametrize("text", ["plain", "it's", "a\\b", '$HOME `x` "y"', "'''"])
def test_what_is_quoted_comes_out_as_it_was(text: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"printf %s {shells.quoted(text)}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == text


# The reference


def test_help_names_every_argument_with_its_type_choices_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "task", "add"]) == 0
    said = capsys.readouterr().out
    assert "[--priority high|medium|low]" in said
    assert "(default medium)" in said
    assert "[--needs TEXT]…" in said
    assert "TIME is 90, 90s, 30m, 2h or 1d." in said
    assert main(["help", "held", "drop"]) == 0
    assert "(required)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["as", "completion"])
def test_what_is_of_the_command_line_alone_is_taught_too(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", name]) == 0
    assert "Example" in capsys.readouterr().out


def test_the_manual_page_has_everything_and_roff_has_nothing_against_it(tmp_path: Path) -> None:
    page = man.page()
    plain = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ga", "`").replace("\\&", "")
    for name in catalogue.names():
        assert f"\\fBmoot {name}\\fR" in plain
        assert all(example in plain for example in reference.examples(catalogue.find(name)))
    for pairs in (reference.EXIT_CODES, reference.ENVIRONMENT, reference.FILES, reference.OPTIONS):
        assert all(f"\\fB{name}\\fR" in plain for name, _ in pairs)
    assert page.isascii()
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed: only looked at")
    (tmp_path / "moot.1").write_text(page)
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8", str(tmp_path / "moot.1")], capture_output=True, timeout=PATIENCE, check=True
    )
    assert done.stderr == b""
    assert b"Blobs of earlier versions." in done.stdout


def test_every_variable_that_the_program_reads_is_in_the_reference() -> None:
    source = Path(catalogue.__file__).parents[1]
    text = "".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    known = " ".join(name for name, _ in reference.ENVIRONMENT)
    assert set(re.findall(r"\bMOOT_[A-Z]+\b", text)) <= set(re.split(r"[ ,]+", known))
