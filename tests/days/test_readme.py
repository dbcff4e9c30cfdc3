"""A newcomer types the first commands of README, with a client that runs only what its permissions allow."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

from tests.days.test_commands_as_printed import DOCUMENT
from tests.surfaces.command import new_command

README = Path(__file__).parents[2] / "README.md"

# Stands for Claude Code without a terminal: it follows its prompt and what moot prints, refuses commands that no rule
# allows, and edits files only in the mode that accepts edits.
CLIENT = """\
import json, os, re, subprocess, sys
words = sys.argv[1:]
assert "-p" in words and os.environ.get("MOOT_AGENT")
edits = "--permission-mode" in words and words[words.index("--permission-mode") + 1] == "acceptEdits"
with open(".claude/settings.json") as file:
    rules = [rule[len("Bash("):-1] for rule in json.load(file)["permissions"]["allow"]]
def run(command):
    allowed = any(command == r or (r.endswith(":*") and (command + " ").startswith(r[:-2] + " ")) for r in rules)
    assert allowed, command
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout
shown = run(re.search("`(moot [^`]+)`", words[-1])[1])
claim = re.search("Before you edit files: (moot .*)", shown)[1]
run(claim.replace("PATH…", "parser.py"))
assert edits
open("parser.py", "w").write("x = 1\\n")
run("moot check -- make test")
run(re.search(r"When it is done: (moot [^(]*)", shown)[1].strip() + " --receipt last")
"""


def test_the_first_commands_of_readme_work_as_printed(tmp_path: Path) -> None:
    run = new_command(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    programs = {"moot": f'exec "{sys.executable}" -m moot "$@"', "claude": f'exec "{sys.executable}" "$0.py" "$@"'}
    for name, script in programs.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    (tools / "claude.py").write_text(CLIENT)
    run.environment["PATH"] = f"{tools}:{run.environment['PATH']}"
    (run.repo / "Makefile").write_text("test:\n\ttrue\n")
    block = re.search(r"\n\n((?:    .*\n)+)", README.read_text())[1]
    installing, *commands = (line.strip() for line in block.splitlines() if not line.strip().startswith("#"))
    assert {"pipx install .", "uv tool install ."} <= set(re.findall(r"pipx install \.|uv tool install \.", block))
    assert installing.startswith("pipx install .")

    # The list that the page about permissions shows is what README tells to use.
    assert "docs/how-to/permit-agents.md" in README.read_text().partition(block)[2].partition("\n\n")[0] + block
    (run.repo / ".claude").mkdir()
    rules = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[1]
    (run.repo / ".claude" / "settings.json").write_text(json.dumps(json.loads(rules)))
    for line in commands:
        ran = run(*shlex.split(line, comments=True)[1:])
        assert ran.code == 0, ran
    assert run("board", "--json").result["counts"] == {"review": 1}


def test_readme_sorts_its_guides_and_is_fair_to_others() -> None:
    text = README.read_text()
    guides = {path.name for path in DOCUMENT.parent.glob("*.md")}
    linked = re.findall(r"\(docs/how-to/([\w.-]+)\)", text.partition("## Documentation")[2])
    assert sorted(linked) == sorted(guides)
    assert len(re.findall(r"^- How to [^:]+:", text, re.MULTILINE)) == 3
    collisions = next(line for line in text.splitlines() if line.startswith("| two agents, one file"))
    assert "by default" in collisions.split("|")[3]
