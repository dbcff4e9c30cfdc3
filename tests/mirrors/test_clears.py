"""An emptied mailbox file clears what its writer had in front of it, and nothing else."""

from __future__ import annotations

import subprocess

import pytest

from moot.core import strict_json
from moot.mirrors.forms import form_of
from moot.place import worktrees
from moot.views import queries
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

pytestmark = pytest.mark.in_memory

ENV = AS_A_PERSON
EMPTIED = b'{"messages": [], "lastRead": null}'


@pytest.fixture
def session(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    Admin(str(tmp_path), ENV).create(("orchestrator",))
    opened = open_call(str(tmp_path), ENV)
    yield opened
    opened.engine.log.close()
    opened.engine.store.close()


def assigned(session, task):
    data = {
        "taskId": task,
        "platform": "web",
        "title": "Login",
        "instructions": "Build it.",
        "filesToCreate": [],
        "architecture": "MVC",
    }
    return session.run("send", {"type": "task_assignment", "data": data}).result.id


def shown(session):
    return [d.entry.id for d in queries.shown_in_file(session.engine.read(), "@developer", ["task_assignment"])]


def absorb(session, data, had):
    """Let the form take a content whose writer had these messages in front of it; what it has to say."""
    spec = next(spec for spec in session.packs.mirrors if spec.mailbox == "@developer")
    form = form_of(spec, session.packs)
    (one,) = form.instances(session.engine.read(), worktrees(session.place))
    content, notices = form.read(data), []
    for author in form.authors(content):
        facts = form.observe(session, one, content, had, author)
        if facts is not None:
            session.engine.commit(
                author, lambda work, facts=facts: notices.extend(form.take(work, one, content, had, facts).notices)
            )
    return notices


@pytest.mark.promise(14)
def test_a_message_that_was_never_in_the_file_is_not_cleared_by_emptying_it(session):
    first, second = assigned(session, "task-001"), assigned(session, "task-002")
    absorb(session, EMPTIED, had=(first,))
    assert shown(session) == [second]


@pytest.mark.promise(14)
def test_an_empty_file_that_showed_nothing_before_clears_nothing(session):
    first = assigned(session, "task-001")
    absorb(session, EMPTIED, had=())
    assert shown(session) == [first]


@pytest.mark.promise(14)
def test_an_old_empty_copy_of_the_file_clears_nothing(session):
    first = assigned(session, "task-001")
    absorb(session, strict_json.dump({"messages": [], "lastRead": None}), had=(first,))
    assert shown(session) == [first]
