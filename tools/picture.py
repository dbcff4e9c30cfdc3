"""Draws docs/pictures/moot.svg: a refused claim beside the real `moot watch`.

tools/picture.py runs the commands in a repository of its own below a temporary directory, reads the screen of
`moot watch` from a real terminal, and draws both with rich. Times differ at each run, so the picture is not one of the
files that `make check` compares. Run `make picture` when the screen has changed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "moot.svg"
COLUMNS, LINES = 110, 26
PATIENCE = 20.0  # seconds
# What happened before the picture: agent ("" for the person) and words.
BEFORE = (
    ("", "init"),
    ("", "join Yeats"),
    ("", "join Bishop --role reviewer"),
    ("", "join Ada"),
    ("", "task add", "Write the parser", "--priority", "high"),
    ("", "task add", "Document the parser", "--needs", "task-001"),
    ("", "task add", "Speed up the lexer"),
    ("", "task add", "Sort the errors by line"),
    ("Yeats", "task claim task-001"),
    ("Yeats", "claim src/parser/** --task task-001", "--reason", "new grammar"),
    ("Ada", "task claim task-004"),
    ("Ada", "checkpoint reach", "May I rename the public class Lexer?", "--task", "task-004"),
    ("Bishop", "send Yeats --type request --within 30m", "May I touch the lexer?"),
)
SHOWN = (
    ("Bishop", "claim src/parser/lexer.py"),
    ("Bishop", "task claim task-003"),
)
DRAWN = re.compile(r"\x1b\[(\d+);1H\x1b\[2K([^\x00]*?)(?=\x1b\[\d+;1H|$)")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="moot-picture-") as directory:
        repository = Path(directory, "repo")
        subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MOOT_", "XDG_"))}
        env |= {"HOME": directory, "MOOT_PERSON": "1", "PATH": f"{ROOT / '.venv' / 'bin'}:{env['PATH']}"}
        for agent, words, *rest in BEFORE:
            _moot(repository, env, agent, words, *rest)
        console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115 (until the program ends)
        for agent, words in SHOWN:
            console.print(Text(f"$ moot --agent {agent} {words}", style="bold"))
            console.print(Text(_moot(repository, env, agent, words).rstrip()))
        console.print(Text("$ moot watch", style="bold"))
        for line in _screen(repository, env):
            console.print(Text.from_ansi(line.replace(directory, "/home/ada")), no_wrap=True, overflow="crop")
    PICTURE.parent.mkdir(exist_ok=True)
    picture = console.export_svg(title="moot", unique_id="moot")
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # rich fetches fonts from the network
    picture = picture.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    PICTURE.write_text(re.sub(r"\s*\n", "\n", picture), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} written")


def _moot(repository: Path, env: dict[str, str], agent: str, words: str, *rest: str) -> str:
    named = ["--agent", agent] if agent else []
    done = subprocess.run(
        ["moot", *named, *words.split(), *rest], cwd=repository, env=env, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _screen(repository: Path, env: dict[str, str]) -> list[str]:
    """The lines of `moot watch`, with their colours, once the screen stays the same for a second."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    watch = subprocess.Popen(
        ["moot", "watch"],
        cwd=repository,
        env={**env, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    raw, end = b"", time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end and select.select([ours], [], [], 1.0 if raw else PATIENCE)[0]:
            raw += os.read(ours, 65536)
    finally:
        watch.terminate()
        watch.wait(PATIENCE)
        os.close(ours)
        os.close(theirs)
    rows = {int(row): text.rstrip("\r\n") for row, text in DRAWN.findall(raw.decode())}
    if not rows:
        sys.exit("tools/picture.py: `moot watch` drew nothing")
    return [rows.get(row, "") for row in range(1, max(rows) + 1)]


if __name__ == "__main__":
    main()
