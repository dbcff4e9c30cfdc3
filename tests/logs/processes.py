"""Real processes that work on a log, and how a test talks to them: one JSON value per line, every wait bounded.

`python -m tests.logs.processes <engine> <role> <arguments>` runs one of the roles in `roles.py`.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tests.logs.engines import Engine

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


class Worker:
    """Another process, as a context manager that ends it."""

    def __init__(self, engine: Engine, role: str, **arguments: Any) -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.logs.processes", pickle.dumps(engine).hex(), role, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()

    def _collect(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def hear(self, timeout: float = PATIENCE) -> Any:
        """What it says next. Fails if it ends or says nothing."""
        line = self._lines.get(timeout=timeout)
        assert line is not None, f"the process ended with {self.process.wait(PATIENCE)}"
        return json.loads(line)

    def rest(self) -> list[Any]:
        """All it still says until it ends. A last line that was cut by a kill is left out."""
        said = []
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            if line.endswith("\n"):
                said.append(json.loads(line))
        return said

    def tell(self, word: str = "go") -> None:
        """Say something to it."""
        assert self.process.stdin
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()


def say(value: Any) -> None:
    """What a worker says to the test."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def wait_for_word() -> str:
    """What a worker waits for."""
    return sys.stdin.readline().strip()


def main() -> None:
    from tests.logs import roles

    engine = pickle.loads(bytes.fromhex(sys.argv[1]))
    getattr(roles, sys.argv[2])(engine, **json.loads(sys.argv[3]))


if __name__ == "__main__":
    main()
