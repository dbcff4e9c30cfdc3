"""Commands run to their end: whatever they print, leave behind, or refuse to stop doing."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Usage
from moot.engine.commands import run

if TYPE_CHECKING:
    from pathlib import Path


def python(script: str, tmp_path: Path, **options: float | None):
    shown: list[bytes] = []
    ran = run([sys.executable, "-c", script], str(tmp_path), tail=100, show=shown.append, **options)  # type: ignore[arg-type]
    return ran, b"".join(shown)


def gone(pid: int) -> bool:
    """Whether a process that nobody waits for has ended, or will within the test's patience."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_all_output_is_shown_and_digested_and_its_end_kept(tmp_path: Path) -> None:
    ran, shown = python("import sys; print('x' * 100_000); sys.stdout.flush(); sys.stderr.write('end')", tmp_path)
    assert shown == b"x" * 100_000 + b"\nend"
    assert (ran.size, ran.digest) == (len(shown), hashlib.sha256(shown).hexdigest())
    assert ran.tail == shown[-100:]
    assert (ran.code, ran.timed_out) == (0, False)


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_the_exit_code_is_that_of_the_command(tmp_path: Path, end: str, code: int) -> None:
    assert python(end, tmp_path)[0].code == code


def test_there_is_no_input_and_no_shell(tmp_path: Path) -> None:
    assert run(["cat"], str(tmp_path), tail=10).size == 0
    assert run(["echo", "$HOME; echo x"], str(tmp_path), tail=100).tail == b"$HOME; echo x\n"


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    ran, shown = python(script, tmp_path, timeout=1.0)
    assert (ran.timed_out, ran.code) == (True, 128 + 9)
    assert gone(int(shown))


def test_one_left_behind_that_keeps_the_output_open_does_not_hold_us_up(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'], start_new_session=True).pid)"
    )
    start = time.monotonic()
    ran, shown = python(script, tmp_path)
    os.kill(int(shown), 9)
    assert ran.code == 0
    assert time.monotonic() - start < 25  # it would be 30


def test_a_command_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    ran, _ = python("import os, time; os.close(1); os.close(2); time.sleep(0.3); os._exit(3)", tmp_path)
    assert ran.code == 3


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("x")
    for argv, code in ((["./nothing"], "no_such_command"), (["./script"], "not_runnable"), (["a\0b"], "not_runnable")):
        with pytest.raises(Usage) as caught:
            run(argv, str(tmp_path), tail=10)
        assert caught.value.code == code
