"""How the program ends: at once, but never before its output is written."""

from __future__ import annotations

import subprocess
import sys

import pytest


def _ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_everything_that_was_printed_arrives_before_the_process_ends():
    done = _ended("from moot.__main__ import end\nprint('x' * 500_000)\nend(3)")
    assert (done.returncode, len(done.stdout)) == (3, 500_001)


@pytest.mark.parametrize("module", ["atexit", "threading"])
def test_with_threads_or_exit_handlers_the_process_ends_in_the_usual_way(module: str):
    late = {
        "atexit": "import atexit\natexit.register(print, 'late')",
        "threading": "import threading\nthreading.Timer(0.1, print, ['late']).start()",
    }[module]
    done = _ended(f"{late}\nfrom moot.__main__ import end\nend(4)")
    assert (done.returncode, done.stdout) == (4, "late\n")


def test_a_closed_output_does_not_change_the_exit_code():
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -c 'from moot.__main__ import end; end(5)' >&- 2>&-"], check=False
    )
    assert done.returncode == 5
