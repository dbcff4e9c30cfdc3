"""The full-text index beside the views: it says what the log says, however it came to be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.core.event import Commit, Draft, Event
from moot.core.query import parse
from moot.engine import searching
from moot.engine.searching import forget, search
from moot.time_travel import PastLog
from moot.views.search import Filters, Index
from tests.engine.harness import Machine, add, claim_files, join, move, send

if TYPE_CHECKING:
    from moot.log import Log

pytestmark = pytest.mark.in_memory

EVERYTHING = 1 << 60


class Redacted(PastLog):
    """A log that does not say any more what was said at one position."""

    def __init__(self, log: Log, position: int) -> None:
        super().__init__(log, log.head())
        self._secret = position

    def read(self, after: int = 0, limit: int = 500, stream: str | None = None) -> list[Event]:
        return [
            e.replace(data={**e.data, "text": "(redacted)"}) if e.position == self._secret else e
            for e in super().read(after, limit, stream)
        ]


def found(machine: Machine, text: str, *, newest: bool = False, limit: int = 100, **filters: object) -> list[str]:
    wanted = Filters(**{"upto": EVERYTHING, **filters})
    things, _ = search(machine.log, machine.views, parse(text), wanted, limit, newest=newest, progress=lambda *_: None)
    return [thing.event.stream for thing in things]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path, tmp_path)
    made.does(
        join("Yeats"),
        add("task-001", body="The lexer comes first."),
        add("task-002", body="Then the grammar."),
        send("m-1", "Yeats", text="Where is the lexer?"),
        move("claim", "task-001"),
        move("release", "task-001", reason="The lexer is too hard."),
        claim_files("c-1", "Yeats#1", "src/lexer.py"),
    )
    return made


def test_a_thing_is_found_once_by_whatever_was_said_about_it(machine: Machine) -> None:
    assert sorted(found(machine, "lexer")) == ["claims", "message/m-1", "task/task-001"]
    assert found(machine, "hard") == ["task/task-001"]
    assert found(machine, "task-002") == ["task/task-002"]


def test_states_and_names_that_events_carry_are_no_text(machine: Machine) -> None:
    for machinery in ("open", "working", "claim", "exclusive", "note", "core"):
        assert found(machine, machinery) == []


def test_filters_narrow_what_is_found(machine: Machine) -> None:
    assert found(machine, "lexer", kinds=("messages",)) == ["message/m-1"]
    assert found(machine, "lexer", kinds=("events",)) == ["claims"]
    assert found(machine, "lexer", by="yeats") == ["task/task-001"]
    assert found(machine, "lexer", task="task-001") == ["task/task-001"]
    assert found(machine, "lexer", upto=2) == ["task/task-001"]
    assert found(machine, "lexer", since=9e12) == []
    assert len(found(machine, "lexer", until=9e12)) == 3
    assert found(machine, "the", newest=True)[:2] == ["task/task-001", "message/m-1"]
    assert len(found(machine, "the", limit=1)) == 1


def test_what_comes_later_is_found_by_the_next_search(machine: Machine) -> None:
    assert found(machine, "suddenly") == []
    machine.does(send("m-2", "Yeats", text="Suddenly, news."))
    assert found(machine, "suddenly") == ["message/m-2"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.text("abcdeé-ß日本\U0001f600 \ud800", min_size=1, max_size=8), min_size=1, max_size=6))
def test_any_text_can_be_indexed_and_be_looked_for(machine: Machine, words: list[str]) -> None:
    name = f"m-{machine.log.head()}"
    text = " ".join(words)
    machine.does(send(name, "Yeats", text=text, size=len(text)))
    query = text.replace("\ud800", "").replace("-", " ")
    if parse(query).asks and "\ud800" not in text:
        assert f"message/{name}" in found(machine, query, limit=1000)
    else:
        found(machine, "anything")


def test_an_interrupted_catching_up_is_gone_on_with(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_PAGE", 2)
    monkeypatch.setattr(searching, "_STEP", 2)
    steps: list[int] = []

    def interrupt(_doing: str, done: int, _all: int) -> None:
        steps.append(done)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(machine.log, machine.views, parse("a"), Filters(upto=9), 9, newest=False, progress=interrupt)
    index = Index(machine.views)
    assert index.cursor() == 4
    index.close()
    assert len(found(machine, "lexer")) == 3


def test_an_index_of_another_log_is_made_anew(machine: Machine, tmp_path: Path) -> None:
    assert found(machine, "lexer")
    other = Machine(tmp_path / "other", machine.views)
    other.does(join("Blake"), *(add(f"task-{n:03}", body="other words") for n in range(1, 12)))
    assert found(other, "lexer") == []
    assert len(found(other, "other")) == 11


@pytest.mark.parametrize("harm", ["gone", "torn", "old", "no pointer"])
def test_a_harmed_index_is_made_anew(machine: Machine, harm: str) -> None:
    assert found(machine, "lexer")
    pointer = Path(Index(machine.views).pointer)
    file = Path(machine.views, pointer.read_text())
    match harm:
        case "gone":
            os.unlink(file)
        case "torn":
            file.write_bytes(b"no database at all" * 1000)
        case "old":
            index = Index(machine.views)
            index.db.execute("PRAGMA user_version = 999")
            index.close()
        case _:
            os.unlink(pointer)
    assert len(found(machine, "lexer")) == 3


def test_what_is_to_be_forgotten_is_gone_from_the_file_too(machine: Machine) -> None:
    machine.does(send("m-2", "Yeats", text="The password is xyzzyplugh."))
    assert found(machine, "xyzzyplugh") == ["message/m-2"]
    log = Redacted(machine.log, machine.log.head())
    forget(log, machine.views, [machine.log.head()])
    assert found(machine, "xyzzyplugh") == []
    assert len(found(machine, "lexer")) == 3
    left = b"".join(path.read_bytes() for path in Path(machine.views).glob("search-*"))
    assert b"xyzzyplugh" not in left


def test_a_tombstone_is_heeded_by_the_next_search(machine: Machine) -> None:
    machine.does(send("m-2", "Yeats", text="The password is xyzzyplugh."))
    assert found(machine, "xyzzyplugh") == ["message/m-2"]
    secret = machine.log.head()
    tombstone = Draft(stream="redactions", type="text:redacted", data={"position": secret, "fields": ["text"]})
    machine.log.append(Commit(id="t", at="2030-01-01T12:00:00Z", by="x"), {}, [tombstone])
    log = Redacted(machine.log, secret)
    search(log, machine.views, parse("a"), Filters(upto=9), 9, newest=False, progress=lambda *_: None)
    assert found(machine, "xyzzyplugh") == []
    assert found(machine, "redacted") == ["message/m-2"]


def test_a_searcher_who_is_killed_while_it_tidies_up_has_forgotten_already(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.does(send("m-2", "Yeats", text="The password is xyzzyplugh."))
    assert found(machine, "xyzzyplugh") == ["message/m-2"]
    secret = machine.log.head()
    tombstone = Draft(stream="redactions", type="text:redacted", data={"position": secret, "fields": ["text"]})
    machine.log.append(Commit(id="t", at="2030-01-01T12:00:00Z", by="x"), {}, [tombstone])

    def killed(_: Index) -> None:
        raise KeyboardInterrupt

    tidy = Index.tidy
    monkeypatch.setattr(Index, "tidy", killed)
    with pytest.raises(KeyboardInterrupt):
        forget(Redacted(machine.log, secret), machine.views, [secret])
    monkeypatch.setattr(Index, "tidy", tidy)
    index = Index(machine.views)
    assert index.untidy()
    assert not list(index.hits("xyzzyplugh", Filters(upto=EVERYTHING), newest=False))
    index.close()
    assert found(machine, "xyzzyplugh") == []
    index = Index(machine.views)
    assert not index.untidy(), "the next searcher tidies up"
    index.close()
    left = b"".join(path.read_bytes() for path in Path(machine.views).glob("search-*"))
    assert b"xyzzyplugh" not in left


def test_two_searchers_at_once_index_everything_once(machine: Machine) -> None:
    one, other = Index(machine.views), Index(machine.views)
    one.begin()
    one.fold(machine.log.read(0, 3))
    one.commit()
    other.close()
    one.close()
    assert len(found(machine, "lexer")) == 3
    assert found(machine, "first") == ["task/task-001"]
