"""Sappho, the reviewer, who also writes two files. She uses moot's Python API.

    moot as Sappho --role reviewer --role team-lead -- python reviewer.py

She also has the role `team-lead`. The file protocol has no mailbox for verdicts, so a lead that knows only files can
read a report but cannot approve it. Sappho approves it after the lead has read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import craft

from moot import Held, Workspace

if TYPE_CHECKING:
    from moot.core.task import Task

# Her own tasks: the file, and how she checks it.
OWN = {
    "exports": ("till/__init__.py", ("-c", "import till")),
    "tests": ("till/test_till.py", ("-m", "unittest", "till.test_till")),
}


def main() -> None:
    with Workspace() as ws:
        news = ws.follow(types=("task:*", "message:*"), timeout="5m")
        while not all(task.phase == "done" for task in ws.board(all=True).tasks):
            ready = [task.id for task in ws.ready() if task.id in OWN]
            submitted = [task for task in ws.board(state="review").tasks if may_be_judged(ws, task)]
            if ready:
                write(ws, ready[0])
            elif submitted:
                judge(ws, submitted[0])
            else:
                ws.inbox()
                next(news)
        ws.inbox()  # the last verdict


def write(ws: Workspace, task: str) -> None:
    path, check = OWN[task]
    ws.task_claim(task)
    hold(ws, path, task)
    craft.think(1.0)
    craft.write(path)
    if errors := craft.python(*check):
        raise RuntimeError(errors)
    craft.commit(task, path)
    ws.task_submit(task)
    ws.release(path)


def hold(ws: Workspace, path: str, task: str) -> None:
    """Claim a file. If another agent holds it, ask for it, and claim it after the answer."""
    try:
        ws.claim(path, task=task)
    except Held as refusal:
        holder = refusal.details["held"][0]["holder"].partition("#")[0]
        asked = ws.send(
            holder,
            f"May I have {path}? I need it for {task}.",
            type="request",
            task=task,
            data={"path": path, "refusal": refusal.message},
            within="1m",
        )
        while not any(letter.reply_to == asked.id for letter in ws.thread(asked.id)):
            ws.wait(mail=True)
            ws.inbox()
        ws.claim(path, task=task)


def may_be_judged(ws: Workspace, task: Task) -> bool:
    """Whether it is another agent's work and, if it was reported through a file, the lead has read the report."""
    if task.lifecycle == "core":
        return not str(task.author).startswith(f"{ws.agent}#")
    return any(report.stage == "acked" for report in ws.mailbox("@team-lead", task=task.id).messages)


def judge(ws: Workspace, task: Task) -> None:
    craft.think(0.6)
    wrong = craft.objections("bench", task.id)
    if wrong:
        ws.task_reject(task.id, reason="; ".join(wrong))
    else:
        ws.task_approve(task.id)
        craft.adopt("bench", task.id)  # only approved work gets onto main


if __name__ == "__main__":
    main()
