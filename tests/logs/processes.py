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
    from moot.log import Log
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


class WorkerThread:
    """The same as a thread of this process, for a log that no other process can open. It ends with its handles."""

    def __init__(self, engine: Engine, role: str, **arguments: Any) -> None:
        self.words: queue.Queue[str] = queue.Queue()
        self.said: queue.Queue[Any] = queue.Queue()
        self._engine = engine
        self._opened: list[Log] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._play, args=(role, arguments), daemon=True)
        self._thread.start()

    def create(self) -> None:
        self._engine.create()

    def open(self) -> Log:
        """A handle for the role, closed when the worker ends."""
        self._opened.append(self._engine.open())
        return self._opened[-1]

    def worker(self, role: str, **arguments: Any) -> Any:
        return self._engine.worker(role, **arguments)

    def _play(self, role: str, arguments: dict[str, Any]) -> None:
        from tests.logs import roles

        _this.worker = self
        try:
            getattr(roles, role)(self, **arguments)
        except BaseException as error:  # reported where the test listens
            self._failure = error
        self.said.put(_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for log in self._opened:
            log.close()
        self.words.put("")
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def hear(self, timeout: float = PATIENCE) -> Any:
        """What it says next. Fails if it ends or says nothing."""
        value = self.said.get(timeout=timeout)
        assert value is not _END, f"the thread ended: {self._failure!r}"
        return value

    def rest(self) -> list[Any]:
        """All it still says until it ends."""
        found = []
        while (value := self.said.get(timeout=PATIENCE)) is not _END:
            found.append(value)
        if self._failure is not None:
            raise self._failure
        return found

    def tell(self, word: str = "go") -> None:
        """Say something to it."""
        self.words.put(word)


_this = threading.local()  # .worker: the one that this thread plays
_END = object()


def say(value: Any) -> None:
    """What a worker says to the test."""
    if (worker := getattr(_this, "worker", None)) is not None:
        worker.said.put(json.loads(json.dumps(value)))
        return
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def wait_for_word() -> str:
    """What a worker waits for."""
    if (worker := getattr(_this, "worker", None)) is not None:
        return str(worker.words.get(timeout=PATIENCE))
    return sys.stdin.readline().strip()


def main() -> None:
    from tests.logs import roles

    engine = pickle.loads(bytes.fromhex(sys.argv[1]))
    getattr(roles, sys.argv[2])(engine, **json.loads(sys.argv[3]))


if __name__ == "__main__":
    main()
