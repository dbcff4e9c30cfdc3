"""A small bookshop in Ruby with a branch of changed classes, and scripted agents: for tests of whole runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from moot import Workspace
from moot.packs.rspec.methods import Rspec

SHOP = Path(__file__).parents[3] / "demo" / "bookshop"
AGENT = Path(__file__).with_name("agent.py")


class Shop:
    """The repository of the shop, as a person uses it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "shop"
        self.log = folder / "agents.log"
        shutil.copytree(SHOP, self.root, ignore=shutil.ignore_patterns("app"))
        shutil.copy(AGENT, self.root / "agent.py")
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "ada@example.com")
        self.git("config", "user.name", "Ada")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "an empty shop")
        self.git("checkout", "-q", "-b", "feature")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)

    def stock(self, *names: str) -> None:
        """Take over sources of the bookshop; all of them without a name."""
        for name in names or ("models/book", "models/customer", "services/checkout", "services/restocking"):
            path = self.root / "app" / f"{name}.rb"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SHOP / "app" / f"{name}.rb", path)

    def open(
        self, behaviour: str = "honest", settings: str = "", timeout: str = "1m", architect: str = "honest"
    ) -> None:
        """Commit what was changed, create the workspace, and allow the agents."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "changes")
        honest, other, words = ([sys.executable, "agent.py", one] for one in ("honest", behaviour, architect))
        limit = f"timeout = {timeout!r}"
        table = f"factory-agent = {honest!r}\n" + (f"test-architect = {words!r}\n" if architect else "")
        table += f"test-implementer = {{ command = {other!r}, {limit} }}\n"
        Workspace.init(str(self.root), packs=["rspec"]).close()
        with (self.root / "moot.toml").open("a") as file:
            file.write(f"\n[run.rspec]\n{table}\n{settings}")
        self.allow()

    def allow(self) -> None:
        self.moot("allow", "--all", "--yes")

    def behave(self, behaviour: str) -> None:
        """Replace test-implementer by another one."""
        path = self.root / "moot.toml"
        old = path.read_text()
        head, _, rest = old.rpartition("agent.py', '")
        end = rest[rest.index("'") :]
        path.write_text(f"{head}agent.py', '{behaviour}{end}")
        self.allow()

    def moot(self, *words: str, code: int = 0) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "moot", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == code, ran
        return ran.stdout + ran.stderr

    def rspec(self, verb: str, /, **given: Any) -> Any:
        """Run a verb of the pack in this process."""
        with Workspace(str(self.root)) as workspace:
            return getattr(workspace.pack(Rspec), verb)(**given)

    def cover(self, **given: Any) -> Any:
        return self.rspec("cover", branch=True, yes=True, **given)

    def document(self, slug: str) -> dict[str, Any]:
        return yaml.safe_load((self.root / f"tmp/rspec_metadata/{slug}.yml").read_text())

    def file(self, path: str) -> str:
        return (self.root / path).read_text()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def asked(self) -> list[str]:
        """The agents that were started, in order."""
        return self.log.read_text().splitlines() if self.log.exists() else []
