"""Random histories: commands of a few agents about a few tasks, messages and files. Many of them are refused."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.engine.harness import (
    ack,
    add,
    answer,
    claim_files,
    join,
    leave,
    link,
    move,
    offer,
    release_files,
    send,
    together,
    unlink,
)

names = st.sampled_from(["Yeats", "Blake"])
tasks = st.sampled_from(["task-001", "task-002", "task-003"])
mails = st.sampled_from(["m-1", "m-2", "m-3"])
commands = st.one_of(
    names.map(join),
    names.map(leave),
    tasks.map(add),
    st.builds(link, tasks, tasks),
    st.builds(unlink, tasks, tasks),
    st.builds(move, st.sampled_from(["claim", "release", "submit", "approve", "reject", "complete"]), tasks, names),
    st.builds(send, mails, names),
    st.builds(lambda name, mail: offer(name, mail, to=f"{name}#1"), names, mails),
    st.builds(lambda name, mail: ack(name, mail, who=f"{name}#1"), names, mails),
    st.builds(lambda name, mail: answer(name, mail, reply="m-9", who=f"{name}#1"), names, mails),
    st.builds(lambda name: claim_files("c-1", f"{name}#1", "src/a.py"), names),
    st.builds(lambda name: release_files(f"{name}#1", "src/a.py"), names),
    st.lists(tasks, min_size=2, max_size=3, unique=True).map(lambda some: together(*map(add, some))),
)
