"""Commands of a process that has few descriptors left: `python -m tests.faults.descriptors ROOT SURFACE`.

For each command it is tried with none to spare, with one, and so on, each time in a child of its own, until it went
through several times in a row. What came of each is said as one line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import traceback
from typing import Any

from moot import Workspace
from moot.core.errors import MootError
from moot.surfaces.cli.main import main

ENOUGH = 3  # times in a row
MOST = 60
ANSWER = 3  # the descriptor that a child answers on; it has no other one that is larger
COMMANDS: list[list[str]] = [
    ["--agent", "Ada", "board"],
    ["--agent", "Ada", "send", "Ada", "hello"],
    ["--agent", "Ada", "inbox"],
    ["--agent", "Ada", "claim", "src/**"],
    ["--agent", "Ada", "log"],
    ["--agent", "Ada", "search", "hello"],
    ["board", "--at", "1"],
    ["--agent", "Ada", "check", "--", "true"],
    ["watch", "--once"],
    ["verify"],
    ["export", "-"],
    ["task", "add", "More"],
]


def limited(spare: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (ANSWER + 1 + spare, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def by_command(words: list[str], spare: int) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        limited(spare)
        code = main(["--json", *words])
    text = out.getvalue() + err.getvalue()
    found = next((json.loads(line) for line in text.splitlines() if line.startswith('{"error"')), {})
    return {"code": code, "error": found.get("error"), "message": found.get("message", text[-400:])}


def by_call(words: list[str], spare: int) -> dict[str, Any]:
    """Some of them in Python, the opening of the workspace included."""
    try:
        limited(spare)
        with Workspace(os.getcwd(), agent="Ada") as ws:
            match words[2:]:
                case ["send", *_]:
                    ws.send("Ada", "hello")
                case ["board"]:
                    ws.board()
                case ["search", word]:
                    ws.search(word)
                case ["claim", path]:
                    ws.claim(path)
                case ["inbox"]:
                    ws.inbox()
    except MootError as error:
        return {"code": error.exit_code, "error": error.code, "message": error.message}
    return {"code": 0, "error": None, "message": ""}


def in_a_child(does: Any, words: list[str], spare: int) -> dict[str, Any]:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(write, ANSWER)
        os.closerange(ANSWER + 1, 1024)
        try:
            said = does(words, spare)
        except BaseException as error:
            said = {"code": -1, "error": type(error).__name__, "message": traceback.format_exc()[-1500:]}
        os.write(ANSWER, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        said = json.loads(file.read() or b'{"code": -2, "error": "died", "message": ""}')
    os.waitpid(child, 0)
    return said


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    surface = by_command if sys.argv[2] == "cli" else by_call
    commands = COMMANDS if surface is by_command else [words for words in COMMANDS if words[0] == "--agent"]
    for words in commands:
        well = 0
        for spare in range(MOST):
            said = in_a_child(surface, words, spare)
            well = well + 1 if said["code"] in (0, 3) and said["error"] != "too_many_open_files" else 0
            sys.stdout.write(json.dumps({"words": words, "spare": spare, **said}) + "\n")
            if well >= ENOUGH:
                break
