"""An agent for the stages of rspec-v1: fills in what the skeleton of a spec leaves open. Imports nothing of moot."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def architect(text: str) -> str:
    """Take the suggested words, and describe each example."""
    lines, word = [], ""
    for line in text.splitlines():
        if "suggested: " in line:
            word = line.rpartition("suggested: ")[2]
        elif "TODO: architect: describe" not in line:
            lines.append(line.replace("{CONTEXT_WORD}", word).replace("{BEHAVIOR_DESCRIPTION}", "returns a value"))
    return "\n".join(lines) + "\n"


def implementer(text: str) -> str:
    """Fill in setup and expectations."""
    lines, large = [], True
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if "TODO: implementer" in line:
            continue
        if "{SETUP_CODE}" in line:
            large = "> " in line
            lines.append(f"{indent}let(:amount) {{ {11 if large else 1} }}")
        elif "{EXPECTATION}" in line:
            lines.append(f"{indent}expect(result).to eq({':large' if large else ':small'})")
        else:
            lines.append(line.replace(".pay }", ".pay(amount) }"))
    return "\n".join(lines) + "\n"


def main() -> None:
    prompt = sys.stdin.read()
    stage = re.search(r"^# Stage rspec-([\w-]+)", prompt)
    spec = re.search(r"^- spec \((?:write|read)\): (.+)$", prompt, re.MULTILINE)
    assert stage is not None
    assert spec is not None
    path = Path(spec[1])
    does = {"architect": architect, "implementer": implementer}.get(stage[1])
    if does is not None:
        path.write_text(does(path.read_text(encoding="utf-8")), encoding="utf-8")
    print("```yaml\nstatus: success\nwarnings: []\n```")


if __name__ == "__main__":
    main()
