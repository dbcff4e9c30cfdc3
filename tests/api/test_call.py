"""A stored command never answers with a failure, whatever goes wrong after its append; a run that goes on does."""

from __future__ import annotations

import subprocess

import pytest

from moot.api.protocol.mirrors import Mirrors
from moot.core.deciders.checkpoint import WithdrawCheckpoint
from moot.core.errors import Refused, Unavailable
from moot.wiring.admin import Admin
from tests.calls import open_call
from tests.person import AS_A_PERSON

pytestmark = pytest.mark.in_memory

ENV = AS_A_PERSON


class FullDisk(Mirrors):
    """Mirrors whose disk fills up right after the first look."""

    def __init__(self):
        self.looks = 0

    def sync(self, _call, _news=None, *, patient=False, everything=False, also=()):  # noqa: ARG002
        self.looks += 1
        if self.looks > 1:
            raise Unavailable("disk_full", "The disk is full.", "Free some space.")
        return ()

    def corrected(self, _call, _entry, _data):
        raise NotImplementedError


@pytest.fixture
def session(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)
    Admin(str(tmp_path), ENV).create(())
    opened = open_call(str(tmp_path), ENV)
    yield opened
    opened.engine.log.close()
    opened.engine.store.close()


@pytest.mark.promise(1)
def test_trouble_after_the_append_is_a_warning_and_the_answer_says_stored(session):
    session.mirrors = FullDisk()
    answer = session.run("task add", {"title": "Write the parser"})
    assert answer.result == {"position": 1}
    assert [warning.code for warning in answer.warnings] == ["disk_full"]
    assert [event.type for event in session.engine.log.read()] == ["task:added"]


def test_trouble_in_a_verb_that_works_between_its_commits_is_an_error_whatever_it_stored_before(session):
    def begin(call, _verb, given):
        call.lasting = True
        return given

    session.mirrors, session.rewrite = FullDisk(), begin
    with pytest.raises(Unavailable) as refusal:
        session.run("task add", {"title": "Write the parser"})
    assert refusal.value.code == "disk_full"
    session.mirrors, session.rewrite = FullDisk(), None
    assert session.run("task add", {"title": "Test the parser"}).result == {"position": 2}


def test_trouble_with_the_second_thing_that_a_verb_stores_is_an_error(session, monkeypatch):
    for _ in range(2):
        session.run("checkpoint reach", {"question": "Which database?", "kind": "decision"})
    found = [event.stream.partition("/")[2] for event in session.engine.log.read()]
    real, commits = session.engine.commit, []

    def full(*given, **more):
        commits.append(given)
        if len(commits) > 1:
            raise Unavailable("disk_full", "The disk is full.", "Free some space.")
        return real(*given, **more)

    def twice(call, _verb, given):
        call.commit(lambda work: work.do("checkpoint", found[0], WithdrawCheckpoint(call.actor(work), "settled")))
        return given

    monkeypatch.setattr(session.engine, "commit", full)
    session.rewrite = twice
    with pytest.raises(Unavailable) as refusal:
        session.run("checkpoint withdraw", {"id": found[1], "reason": "settled"})
    assert refusal.value.code == "disk_full"
    assert len(session.engine.log.read()) == 3


def test_trouble_before_anything_was_stored_is_an_error(session):
    session.mirrors = FullDisk()
    session.mirrors.looks = 1
    with pytest.raises(Unavailable) as refusal:
        session.run("task add", {"title": "Write the parser"})
    assert refusal.value.code == "disk_full"
    assert session.engine.log.head() == 0


def test_a_repeat_by_key_says_who_holds_the_task_now(session):
    session.run("task add", {"title": "Write the parser"})
    session.run("task claim", {"key": "k"})
    session.run("task release", {"task": "task-001"})
    said = session.run("task claim", {"key": "k"}).say
    assert said[-1] == "repeated with the same key; now it is open"


@pytest.mark.parametrize(
    ("given_back", "said", "gone"),
    [
        ([], "the claim now is still held", ()),
        (["a.py"], "the claim now holds only b.py", ("a.py",)),
        (["a.py", "b.py"], "the claim now is gone: claim the paths again, without this key", ("a.py", "b.py")),
    ],
    ids=["all", "some", "none"],
)
def test_a_repeat_by_key_says_what_is_left_of_the_claim(session, given_back, said, gone):
    first = session.run("claim", {"paths": ["a.py", "b.py"], "key": "k"})
    assert (first.result.repeated, first.result.gone, len(first.say)) == (False, (), 1)
    if given_back:
        session.run("release", {"what": given_back})
    again = session.run("claim", {"paths": ["a.py", "b.py"], "key": "k"})
    assert again.say == (first.say[0], f"repeated with the same key; {said}")
    assert (again.result.id, again.result.repeated, again.result.gone) == (first.result.id, True, gone)


def test_the_same_words_in_another_directory_are_another_request(session, tmp_path):
    for name in ("s", "t"):
        (tmp_path / name).mkdir()
    session.cwd = str(tmp_path / "s")
    session.run("claim", {"paths": ["a.py"], "key": "k"})
    session.cwd = str(tmp_path / "t")
    with pytest.raises(Refused) as refusal:
        session.run("claim", {"paths": ["a.py"], "key": "k"})
    assert refusal.value.code == "key_reused"


def test_more_agents_than_there_are_names_get_a_name_each(session):
    """A made-up name stays the same while the engine looks up what the decision needs to know about it."""
    names = [session.run("join", {}).result.name for _ in range(60)]
    assert len({name.lower() for name in names}) == 60
