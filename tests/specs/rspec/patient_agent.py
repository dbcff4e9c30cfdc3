"""An agent that works like `agent.py`, says when it begins and ends, and waits in between if a test wants it to.

`../stamps.log` gets a line for each begin and end. If there is a file `../hold/AGENT SOURCE`, the agent takes it by
adding its process to the name, and waits until the file is gone. The file says what is done before the wait: `all` of
the work, `half` of it, or `nothing`. If it says `stale`, the agent works on the spec as it was before the wait; if it
says `stale and wrong`, it also fails. As factory-agent it adds a trait with the name of the source.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 60.0  # seconds


def stamp(what: str, who: str) -> None:
    with open("../stamps.log", "a", encoding="utf-8") as file:
        file.write(f"{what} {who} {os.getpid()}\n")


def work(prompt: str) -> str:
    ran = subprocess.run(
        [sys.executable, "agent.py", "honest"], input=prompt, text=True, capture_output=True, check=True
    )
    return ran.stdout


def half(prompt: str) -> None:
    (path,) = re.findall(r"^- spec: `([^`]+)`", prompt, re.MULTILINE)
    spec = Path(path)
    text = spec.read_text()
    (name, *_) = re.findall(r'describe "#(\w+)"', text)
    found = f"described_class.instance_method(:{name}).source_location.grep(%r{{/app/}})"
    spec.write_text(text.replace('skip "{EXPECTATION}"', f"expect({found}).not_to be_empty", 1))


def add_trait(prompt: str, name: str) -> str:
    (path,) = re.findall(r"^- factories: `([^`]+)`", prompt, re.MULTILINE)
    path += "books.rb"
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    model = file.stem.removesuffix("s")
    old = (
        file.read_text()
        if file.exists()
        else f"FactoryBot.define do\n  factory :{model} do\n    skip_create\n  end\nend\n"
    )
    file.write_text(old.replace("    skip_create\n", f"    skip_create\n\n    trait :{name} do\n    end\n"))
    return f"```yaml\nstatus: success\ndata:\n  files_created:\n    - path: {path}\n      traits_added: [{name}]\n```\n"


def wait(hold: Path) -> None:
    end = time.monotonic() + PATIENCE
    while hold.exists():
        if time.monotonic() > end:
            sys.exit("nobody let it go on")
        time.sleep(0.02)


def main() -> None:
    prompt = sys.stdin.read()
    agent = re.findall(r"You are ([a-z-]+)", prompt)[0]
    if agent == "test-architect":  # the wording does not belong to what these tests are about
        print(work(prompt))
        return
    stem = Path(re.findall(r"^- source: `([^`]+)`", prompt, re.MULTILINE)[0]).stem
    hold = Path("../hold") / f"{agent} {stem}"
    mine = hold.rename(f"{hold} {os.getpid()}") if hold.exists() else hold
    before = mine.read_text() if mine.exists() else "nothing"
    said = work(prompt) if before == "all" else ""
    if before == "half":
        half(prompt)
    spec = Path(re.findall(r"^- spec: `([^`]+)`", prompt, re.MULTILINE)[0])
    old = spec.read_text()
    stamp("begin", f"{agent} {stem}")
    wait(mine)
    if before.startswith("stale"):
        spec.write_text(old)
    if before == "stale and wrong":
        sys.exit(1)
    said = said or (add_trait(prompt, stem) if agent == "factory-agent" else work(prompt))
    stamp("end", f"{agent} {stem}")
    print(said)


main()
