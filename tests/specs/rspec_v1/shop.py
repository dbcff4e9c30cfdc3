"""A small Ruby project, and the commands that a user runs in it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from moot.surfaces.cli.main import main
from tests.person import AS_A_PERSON

if TYPE_CHECKING:
    import pytest

AGENT = Path(__file__).with_name("agent.py")
SOURCE = "app/services/payment.rb"
SPEC = "spec/services/payment_spec.rb"
METADATA = "tmp/rspec_claude_metadata/metadata_app_services_payment.yml"
REPORT = "tmp/rspec_claude_metadata/review_report_app_services_payment.md"
PAYMENT = """\
class Payment
  def process(user, amount)
    if user.authenticated?
      amount > 10 ? :large : :small
    else
      :refused
    end
  end

  def refund
    1
  end

  private

  def charge; end
end
"""
HELPER = """\
require_relative '../app/services/payment'
User = Struct.new(:authenticated) do
  def authenticated? = authenticated
end
"""
STAGES = ("analyzer", "validation", "skeleton", "architect", "implementer", "factory_optimizer", "polisher", "reviewer")
AGENTS = ("architect", "implementer", "factory_optimizer")


class Said(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str


class Shop:
    """A repository with one source, and scripted agents."""

    def __init__(self, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, *, tmp: bool = True) -> None:
        self.root, self._patch = root, monkeypatch
        for name in [*os.environ]:
            if name.startswith("MOOT_"):
                monkeypatch.delenv(name)
        for name, value in {**AS_A_PERSON, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}.items():
            monkeypatch.setenv(name, value)
        self.write(SOURCE, PAYMENT)
        self.write("spec/spec_helper.rb", HELPER)
        if tmp:
            (root / "tmp").mkdir()
        subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
        self.write(".gitignore", "/tmp/\n")

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def agents(self, settings: str = "", timeout: str = "60s", **modes: str) -> None:
        """Set the commands of the agents, each good unless its mode is given, and allow them."""
        rows = []
        for name in dict.fromkeys((*AGENTS, *modes)):
            command = json.dumps([sys.executable, str(AGENT), modes.get(name, "good")])
            if modes.get(name) != "none":
                rows.append(f"{name} = {{ command = {command}, timeout = '{timeout}' }}")
        self.write("moot.toml", "\n".join(['packs = ["rspec-v1"]', settings, "[run.rspec-v1]", *rows, ""]))
        said = self("init")
        assert said.code == 0, said
        said = self("allow", "--all", "--yes")
        assert said.code == 0, said

    def __call__(self, *words: str, cwd: Path | None = None) -> Said:
        out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
        self._patch.chdir(cwd or self.root)
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(words))
        for stream in (out, err):
            stream.flush()
        said = Said(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]
        assert "Traceback" not in said.err
        return said

    def rspec(self, *words: str, cwd: Path | None = None) -> Said:
        return self("rspec-v1", *words, cwd=cwd)

    def run(self, *more: str) -> Said:
        return self.rspec("run", SOURCE, "process", *more)

    def json(self, *words: str) -> Any:
        said = self.rspec(*words, "--json")
        assert said.code == 0, said
        return json.loads(said.out)["result"]

    def document(self, path: str = METADATA) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self.read(path))
        return found

    def states(self) -> dict[str, str]:
        """The state of each stage."""
        return {one["stage"]: one["state"] for one in self.json("status", SOURCE)["stages"]}

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        said = self("log", "--json", "--limit", "1000")
        found = json.loads(said.out)["result"]
        return [one for one in found if one["type"].startswith(kind)]
