"""Programs run to their end: whatever they print, leave behind, or refuse to stop doing."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from moot.place import escaped
from moot.place.processes import NotStarted, Ran, run
from tests.faults.crew import alive, until

if TYPE_CHECKING:
    from pathlib import Path


def python(script: str, tmp_path: Path, keep: int = 100, **options: Any) -> tuple[Ran, bytes]:
    shown: list[bytes] = []
    show = options.pop("show", shown.append)
    ran = run([sys.executable, "-c", script], cwd=str(tmp_path), env=os.environ, keep=keep, show=show, **options)
    return ran, b"".join(shown)


def gone(pid: int) -> None:
    until(lambda: not alive(pid), "the process is gone")


def timed(script: str, tmp_path: Path) -> tuple[Ran, bytes]:
    """Run a script that prints something and never ends, with a time limit that lets it get so far."""
    ran, shown = python(script, tmp_path, timeout=1.0)
    for limit in (4.0, 16.0, 64.0):
        assert ran.timed_out
        if shown:
            break
        ran, shown = python(script, tmp_path, timeout=limit)
    return ran, shown


# A leader that ends at SIGTERM, with a child that ignores it and keeps our pipe open (as its standard error).
STUBBORN_CHILD = (
    "import signal, subprocess, sys, time\n"
    "code = 'import time, signal as s; s.signal(s.SIGTERM, s.SIG_IGN); print(1, flush=True); time.sleep(600)'\n"
    "child = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE)\n"
    "child.stdout.read(1)\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)"
)


def test_all_output_is_shown_and_digested_and_its_end_kept(tmp_path: Path) -> None:
    ran, shown = python("import sys; print('x' * 100_000); sys.stdout.flush(); sys.stderr.write('end')", tmp_path)
    assert shown == b"x" * 100_000 + b"\nend"
    assert (ran.output.size, ran.output.digest) == (len(shown), hashlib.sha256(shown).hexdigest())
    assert ran.output.tail == shown[-100:]
    assert (ran.code, ran.timed_out) == (0, False)


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_the_exit_code_is_that_of_the_command(tmp_path: Path, end: str, code: int) -> None:
    assert python(end, tmp_path)[0].code == code


def test_a_signal_is_not_an_exit_code(tmp_path: Path) -> None:
    ran, _ = python("import os; os.kill(os.getpid(), 9)", tmp_path)
    assert (ran.signal, ran.code) == (9, 137)
    ran, _ = python("raise SystemExit(137)", tmp_path)
    assert (ran.signal, ran.code) == (0, 137)


def plainly(argv: list[str], tmp_path: Path, **options: Any) -> Ran:
    return run(argv, cwd=str(tmp_path), env=os.environ, **{"keep": 100, **options})


def test_a_script_that_is_still_open_for_writing_is_started_as_soon_as_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho started\n")
    script.chmod(0o755)
    writing = script.open("ab")  # as a child of another thread has it, for a moment
    pauses: list[float] = []
    monkeypatch.setattr("moot.place.processes.time.sleep", lambda seconds: (pauses.append(seconds), writing.close()))
    assert run([str(script)], cwd=str(tmp_path), env=os.environ, keep=100).output.tail == b"started\n"
    assert pauses


def test_a_script_that_stays_open_for_writing_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho started\n")
    script.chmod(0o755)
    monkeypatch.setattr("moot.place.processes._BUSY", 0.05)
    with script.open("ab"), pytest.raises(NotStarted, match="busy"):
        run([str(script)], cwd=str(tmp_path), env=os.environ, keep=100)


def test_without_input_a_program_reads_nothing_and_no_shell_reads_its_words(tmp_path: Path) -> None:
    assert plainly(["cat"], tmp_path).output.size == 0
    assert plainly(["echo", "$HOME; echo x"], tmp_path).output.tail == b"$HOME; echo x\n"


def test_a_program_gets_all_of_its_input_and_need_not_read_it(tmp_path: Path) -> None:
    said = os.urandom(1 << 20)
    assert plainly(["cat"], tmp_path, stdin=said).output.digest == hashlib.sha256(said).hexdigest()
    assert plainly(["true"], tmp_path, stdin=said).code == 0


def test_a_program_has_no_terminal(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "try: os.open('/dev/tty', os.O_RDWR)\n"
        "except OSError: print('none')\n"
        "print(os.getsid(0) == os.getpid())"
    )
    assert python(script, tmp_path)[1] == b"none\nTrue\n"


def test_errors_can_be_kept_apart_and_each_output_is_bounded(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "for _ in range(2000):\n  os.write(1, b'o' * 1000); os.write(2, b'e' * 500)\n"
        "os.write(1, b'O'); os.write(2, b'E')"
    )
    ran, shown = python(script, tmp_path, apart=True, keep=7)
    assert (ran.output.tail, ran.output.size, ran.output.whole) == (b"ooooooO", 2_000_001, False)
    assert (ran.errors.tail, ran.errors.size) == (b"eeeeeeE", 1_000_001)
    assert shown == b"o" * 2_000_000 + b"O"
    ran, _ = python("print('all')", tmp_path, apart=True, keep=4)
    assert (ran.output.tail, ran.output.whole, ran.errors.size) == (b"all\n", True, 0)


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    ran, shown = timed(script, tmp_path)
    assert (ran.code, ran.signal) == (128 + 9, 9)
    gone(int(shown))


def test_a_child_that_ignores_the_request_to_end_does_not_outlive_its_parent(tmp_path: Path) -> None:
    ran, shown = timed(STUBBORN_CHILD, tmp_path)
    assert ran.signal == 15
    gone(int(shown))


def first_number(output: bytes) -> int:
    """The process id that the program printed first. A traceback may follow when it is ended."""
    found = re.match(rb"\d+", output)
    assert found, output
    return int(found[0])


def test_a_cancelled_program_ends_with_all_that_it_started(tmp_path: Path) -> None:
    shown: list[bytes] = []
    ran, _ = python(STUBBORN_CHILD, tmp_path, show=shown.append, cancel=lambda: bool(shown), timeout=60.0)
    assert (ran.cancelled, ran.timed_out) == (True, False)
    gone(first_number(b"".join(shown)))


def test_an_interrupted_caller_leaves_nothing_running(tmp_path: Path) -> None:
    shown: list[bytes] = []

    def interrupted() -> bool:
        if shown:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        python(STUBBORN_CHILD, tmp_path, show=shown.append, cancel=interrupted, timeout=60.0)
    gone(first_number(b"".join(shown)))


def test_a_second_interrupt_kills_at_once(tmp_path: Path) -> None:
    """The program ignores SIGTERM, and sends us the second interrupt when it gets one."""
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGINT))\n"
        "print(os.getpid(), flush=True)\n"
        "while True: time.sleep(600)"
    )
    shown: list[bytes] = []

    def interrupted() -> bool:
        if shown:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt) as caught:
        python(script, tmp_path, show=shown.append, cancel=interrupted, timeout=60.0)
    assert isinstance(caught.value.__context__, KeyboardInterrupt), "both of them came"
    gone(first_number(b"".join(shown)))


def test_whoever_can_show_no_more_leaves_nothing_running(tmp_path: Path) -> None:
    shown: list[bytes] = []

    def show(chunk: bytes) -> None:
        shown.append(chunk)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        python(STUBBORN_CHILD, tmp_path, show=show, timeout=60.0)
    gone(int(shown[0]))


def test_what_a_program_says_while_it_ends_is_kept(tmp_path: Path) -> None:
    script = (
        "import os, signal, time\n"
        "def end(*_): os.write(1, b'x' * 300_000 + b'bye'); os._exit(0)\n"
        "signal.signal(signal.SIGTERM, end); print('begun', flush=True); time.sleep(600)"
    )
    ran, shown = timed(script, tmp_path)
    assert (ran.code, ran.signal) == (0, 0)
    assert shown == b"begun\n" + b"x" * 300_000 + b"bye"


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


def test_a_file_that_is_held_stays_open_in_the_program(tmp_path: Path) -> None:
    with (tmp_path / "held").open("wb") as file:
        number = file.fileno()
        ran, _ = python(f"import os; os.write({number}, b'mine')", tmp_path, hold=(number,))
    assert (ran.code, (tmp_path / "held").read_bytes()) == (0, b"mine")


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("x")
    for argv, code in ((["./nothing"], "no_such_command"), (["./script"], "not_runnable"), (["a\0b"], "not_runnable")):
        with pytest.raises(NotStarted) as caught:
            plainly(argv, tmp_path)
        assert caught.value.usage(argv[0]).code == code


LEAVES_ONE = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=%s)\n"
    "print(child.pid, flush=True)"
)


def test_what_a_program_left_behind_is_ended_on_request(tmp_path: Path) -> None:
    ran, shown = python(LEAVES_ONE % False, tmp_path, leave=False)
    assert (ran.left, ran.code, ran.timed_out) == (True, 0, False)
    gone(int(shown))


def test_a_stubborn_one_left_behind_is_killed(tmp_path: Path) -> None:
    ran, shown = python(STUBBORN_CHILD.rpartition("\n")[0], tmp_path, leave=False)
    assert ran.left
    gone(int(shown.split()[0]))


@pytest.mark.skipif(sys.platform != "linux", reason="found by what Linux shows of processes")
def test_one_that_moved_to_its_own_session_and_holds_the_output_is_ended(tmp_path: Path) -> None:
    ran, shown = python(LEAVES_ONE % True, tmp_path, leave=False)
    assert ran.left
    gone(int(shown))


def test_one_that_moved_to_its_own_session_and_holds_nothing_is_left_alone(tmp_path: Path) -> None:
    holds_nothing = "True, stdin=-3, stdout=-3, stderr=-3"
    ran, shown = python(LEAVES_ONE % holds_nothing, tmp_path, leave=False)
    assert not ran.left
    assert alive(int(shown))
    os.kill(int(shown), 9)


@pytest.mark.parametrize("body", ["pass", "print('x' * 50_000)"])
def test_output_that_nobody_has_read_yet_is_not_taken_for_a_process_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    sought: list[int] = []
    monkeypatch.setattr(escaped, "signal_escaped", lambda _number, program, *_: sought.append(program))

    def ended(process: int, _since: int | None) -> None:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)

    ran, shown = python(body, tmp_path, leave=False, apart=True, started=ended)
    assert len(shown) == ran.output.size == (50_001 if "print" in body else 0)
    assert sought == [], "there is nothing to look for among all processes"


def test_nothing_is_reported_left_if_nothing_was(tmp_path: Path) -> None:
    assert not python("pass", tmp_path, leave=False)[0].left


def test_the_caller_learns_the_process_and_hears_that_it_is_alive(tmp_path: Path) -> None:
    started: list[tuple[int, int | None]] = []
    beats: list[float] = []
    script = "import os, sys, time; print(os.getpid(), os.getpgid(0)); time.sleep(1)"
    note = lambda *known: started.append(known)  # noqa: E731
    _, shown = python(script, tmp_path, started=note, alive=lambda: beats.append(0.0), every=0.1)
    ((process, since),) = started
    assert shown.split() == [str(process).encode()] * 2
    assert (since or 0) >= (escaped.start_of(os.getpid()) or 0)
    assert beats
