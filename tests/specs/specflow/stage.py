"""A repository whose agents and gates are scripts: real processes that `moot run specflow` starts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tests.specs.specflow.project import Project, issue

if TYPE_CHECKING:
    import subprocess

    from moot.core.run import Run
    from tests.specs.orchestrator.project import Spoken

# Each agent starts with this. Files outside the repository, in `../desk`, outlive it.
PREAMBLE = """\
import json, os, re, signal, subprocess, sys, time
brief = sys.stdin.read()
me, issue = os.environ["MOOT_AGENT"], os.environ.get("ISSUE_NUMBER", "")
name = me.partition(".")[2]

def desk(name):
    return os.path.join("..", "desk", name)

def nth(what):
    with open(desk(f"{what}.count"), "a+") as file:
        file.write("x")
        file.seek(0)
        return len(file.read())

def wait_for(name):
    while not os.path.exists(desk(name)):
        time.sleep(0.02)

def moot(*words, fails=False):
    done = subprocess.run([sys.executable, "-m", "moot", "--json", *words], capture_output=True, text=True)
    if done.returncode and not fails:
        sys.exit(f"{words}: {done.stdout} {done.stderr}")
    return json.loads(done.stdout)

def write(to, text):
    return moot("specflow", "write", to, text)["result"]

def told(*kinds):
    '''The data of the newest message of these kinds, once there is a new one.'''
    while True:
        mail = moot("inbox")["result"]
        for one in [*mail["waiting"], *mail["new"]][::-1]:
            moot("ack", one["id"], fails=True)
            if one["type"] in kinds:
                return one
        time.sleep(0.05)

def commit(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    lock = desk("git")
    while True:
        try:
            os.mkdir(lock)
            break
        except FileExistsError:
            time.sleep(0.02)
    subprocess.run(f"git add -A && git commit --quiet --allow-empty -m '{name}'", shell=True, check=True)
    os.rmdir(lock)

def finish():
    write("quality-gate", "RUN_CONTRACTS")
    result = told("CONTRACT_RESULTS")
    if "PASS" not in result["text"]:
        return False
    write("waves-controller", f"READY_FOR_CLOSURE #{issue} {result['data']['run']}")
    moot("task", "complete", f"issue-{issue}")
    return True

turn = nth(f"turn-{name}")
"""
GOOD = """
write("db-coordinator", f"REQUEST_MIGRATION #{issue} tables:[t{issue}]")
moot("specflow", "broadcast", f"TOUCHING_FILE src/lib/{name}.ts")
commit(f"src/lib/{name}.ts", f"// {issue}\\n")
assert finish()
"""
GATE = """\
import json, os, sys
kind = sys.argv[1]
with open(os.path.join("..", "desk", f"{kind}.count"), "a+") as file:
    file.write("x")
    file.seek(0)
    turn = len(file.read())
"""
REPORT = """
how = "passed" if len(sys.argv) < 3 else sys.argv[2]
os.makedirs("reports", exist_ok=True)
case = "" if how == "passed" else "<failure/>"
with open(f"reports/{kind}.xml", "w") as file:
    file.write(f'<testsuite><testcase classname="all" name="{kind}">{case}</testcase></testsuite>')
sys.exit(how != "passed")
"""


class Stage(Project):
    """A project with scripts for the commands of `[run.specflow]`, allowed on this machine."""

    def play(
        self,
        *numbers: int,
        settings: str = "",
        issues: tuple[dict[str, Any], ...] = (),
        words: dict[str, list[str]] | None = None,
        **scripts: str,
    ) -> Stage:
        """Set the stage: scripts by command, with more `words`, and a plan of these issues."""
        self.desk("").mkdir()
        self.settings, self.words, self.scripts = settings, words or {}, {"contracts": REPORT, "regression": REPORT}
        self.replay(**scripts)
        self.plan(*(issues or map(issue, numbers)))
        return self

    def replay(self, **scripts: str) -> None:
        """Change some scripts."""
        self.scripts |= scripts
        lines = ['packs = ["specflow"]', "[pack.specflow]", self.settings]
        lines += ['reports = { contracts = "reports/contracts.xml", regression = "reports/regression.xml" }']
        lines += ["[run.specflow]"]
        for name, body in self.scripts.items():
            is_gate = name in ("contracts", "journeys", "regression")
            self.put(f"tools/{name}.py", (GATE if is_gate else PREAMBLE) + body)
            command = [sys.executable, f"tools/{name}.py", *([name] if is_gate else self.words.get(name, []))]
            lines.append(
                f'{name} = {{ command = {json.dumps(command)}, timeout = "60s", env = ["CLAUDE_CODE_TEAM_NAME"] }}'
            )
        self.put("moot.toml", "\n".join(lines) + "\n")
        self.put(".gitignore", "reports/\n")
        self.commit()
        self.session().workspace.reload()
        assert self.cli("allow", "--all", "--yes").code == 0

    def drive(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        """`moot run specflow`, to its end. Returns what it said."""
        spoken = self.cli("run", "specflow", *words)
        assert spoken.code == code, spoken.out + spoken.err
        return steps_of(spoken)

    def start_driving(self, *words: str) -> subprocess.Popen[bytes]:
        return self.start("run", "specflow", *words)

    def count(self, what: str) -> int:
        """How often a script was started."""
        path = self.root.parent / "desk" / f"{what}.count"
        return len(path.read_text()) if path.exists() else 0

    def desk(self, name: str) -> Any:
        return self.root.parent / "desk" / name

    def runs_of(self, member: str) -> list[Run]:
        from moot.views import queries

        every = queries.things(self.session().engine.read(), "run", ended=True)
        return sorted((run for run in every if run.parameters.get("member") == member), key=lambda run: run.at)


def steps_of(spoken: Spoken) -> list[dict[str, Any]]:
    return [json.loads(line) for line in spoken.out.splitlines()]
