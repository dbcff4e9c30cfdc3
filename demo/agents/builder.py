"""Yeats, the builder. He uses the command `moot`, as any agent with a shell can.

    moot as Yeats -- python builder.py

`moot as` joins under that name, and leaves when the script ends. While the script runs, Yeats counts as present. If
both processes are killed, he falls silent, and another agent can take over his task and files.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import craft

ME = os.environ["MOOT_AGENT"]
PACKAGE = "till/__init__.py"
FILES = {
    "money": [PACKAGE, "till/money.py"],
    "stock": ["till/stock.py"],
    "basket": ["till/basket.py"],
    "app": ["till/__main__.py"],
}
QUESTIONS = {"basket": "Shall equal things share one line of the basket?"}


def moot(*words: str) -> Any:
    """Run a moot command and return its result. Raises its error."""
    done = subprocess.run(["moot", "--json", *words], stdout=subprocess.PIPE, text=True, check=False)
    answer = json.loads(done.stdout)
    if done.returncode != 0:
        raise RuntimeError(f"{answer['message']} {answer['remedy']}")
    return answer["result"]


def main() -> None:
    while True:
        newest = moot("log", "--limit", "1")[0]["position"]
        read_mail()
        tasks = moot("board", "--all")["tasks"]
        submitted = [task for task in tasks if task["phase"] == "review" and by_a_colleague(task)]
        ready = [task["id"] for task in moot("ready") if task["id"] in FILES]
        if submitted:
            review(submitted[0]["id"])
        elif ready:
            build(ready[0])
        elif all(task["phase"] == "done" for task in tasks):
            read_mail()  # the last verdict
            return
        else:
            moot("wait", "--type", "task:*", "--type", "message:sent", "--after", str(newest), "--timeout", "5m")


def build(task: str) -> None:
    moot("task", "claim", task)
    moot("claim", FILES[task][-1], "--task", task, "--reason", f"building {task}")  # ends with the task
    if PACKAGE in FILES[task]:
        moot("claim", PACKAGE, "--reason", f"building {task}")  # he keeps the package: he may need it again
    for path in FILES[task]:
        craft.write(path, share=0.5)
    craft.think(1.2)
    if task in QUESTIONS:
        ask(task, QUESTIONS[task])
        craft.think(0.5)
    craft.write(FILES[task][-1])
    craft.think(0.8)
    craft.commit(task, *FILES[task])
    moot("task", "submit", task)


def ask(task: str, question: str) -> None:
    """Ask the creator of the task, and wait for the answer.

    With the key, the question is sent only once. So after a crash, the next Yeats finds the answer to it.
    """
    whom = moot("task", "show", task)["task"]["creator"]
    asked = moot("send", whom, question, "--type", "request", "--task", task, "--key", f"question about {task}")
    while not any(letter["reply_to"] == asked["id"] for letter in moot("thread", asked["id"])):
        moot("wait", "--mail")
        read_mail()


def read_mail() -> None:
    for letter in moot("inbox")["new"]:
        wanted = (letter["data"] or {}).get("path")
        if letter["wants"] == "answer" and wanted == PACKAGE:
            moot("release", PACKAGE)
            moot("reply", letter["id"], f"I have committed {PACKAGE} and released it. It is yours.")


def by_a_colleague(task: dict[str, Any]) -> bool:
    """Whether another agent wrote it. moot refuses reviews of one's own work."""
    return task["lifecycle"] == "core" and not task["author"].startswith(f"{ME}#")


def review(task: str) -> None:
    craft.think(0.6)
    wrong = craft.objections("main", task)
    if wrong:
        moot("task", "reject", task, "--reason", "; ".join(wrong))
    else:
        moot("task", "approve", task)


if __name__ == "__main__":
    main()
