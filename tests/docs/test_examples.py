"""The Python examples in the documentation are run: those whose first line names a file.

Each is run in a new repository, with the files that the console blocks before it on its page write with `cat`. One
named test_… is run by pytest, with the plugin found as a user's pytest finds it; any other is a program that must
print what its page says it prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"```python\n# (\w+\.py)\n(.*?)```", re.DOTALL)
EXAMPLES = [
    (page, *found.groups())
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for found in EXAMPLE.finditer(page.read_text(encoding="utf-8"))
]


def write_files(page: Path, name: str, directory: Path) -> None:
    """Write the files of the page up to this example. `>>` and later versions of a file count, too."""
    before = page.read_text(encoding="utf-8").partition(f"```python\n# {name}\n")[0]
    for how, path, text in re.findall(
        r"^\$ cat (>>?) ([\w./-]+) <<'END'\n(.*?)^END$", before, re.DOTALL | re.MULTILINE
    ):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a" if how == ">>" else "w", encoding="utf-8") as out:
            out.write(text)


def test_there_are_examples() -> None:
    assert {name for _, name, _ in EXAMPLES} >= {"follower.py", "test_review.py", "test_marked.py"}


@pytest.mark.parametrize(("page", "name", "code"), EXAMPLES, ids=[name for _, name, _ in EXAMPLES])
def test_an_example_does_what_its_page_says(page: Path, name: str, code: str, tmp_path: Path) -> None:
    write_files(page, name, tmp_path)
    (tmp_path / name).write_text(code, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    words = ["-m", "pytest", "-q", "--strict-markers", "-W", "error", "-p", "no:cacheprovider"]
    words += [f"--basetemp={tmp_path / 'inner'}"]  # otherwise it also removes the folders of earlier runs
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MOOT_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, *(words if name.startswith("test_") else []), name],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = re.search(r"It prints `([^`]*)`", page.read_text(encoding="utf-8"))
    if not name.startswith("test_") and printed:
        assert done.stdout.strip() == printed[1]
