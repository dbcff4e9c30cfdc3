"""A kind that exists only in this folder works everywhere: what moot does with an entity, it asks the entity's kind."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from moot import Workspace
from moot.core.deciders.custom_event import Emit
from moot.core.deciders.document import OpenDocument
from moot.core.errors import Refused
from moot.core.event import Commit, Draft
from moot.core.kind import TABLE, find, kinds, use
from moot.surfaces.cli.main import main
from moot.views import queries, states
from tests.kinds.note import Close, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from moot.core.record import Record
    from moot.engine.engine import Engine

    Moot = Callable[..., str]

SECRET = "swordfish"
NOTE = Write(author="Ada#1", title="The lease is too short", body=f"It says {SECRET}.", place="src/lease.py")


@contextmanager
def more_kinds(more: dict[str, str]) -> Iterator[None]:
    use({**TABLE, **more})
    try:
        yield
    finally:
        use(TABLE)


@pytest.fixture
def _known() -> Iterator[None]:
    with more_kinds({"note": "tests.kinds.note:KIND"}):
        yield


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of a person, and this process in it."""
    where = tmp_path / "repo"
    where.mkdir()
    Workspace.init(where, person=True).close()
    monkeypatch.chdir(where)
    return where


@pytest.fixture
def moot(repo: Path, capsys: pytest.CaptureFixture[str]) -> Moot:
    """The command line, called in this process by a person."""

    def called(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        found = main(["-C", str(repo), *words])
        said = capsys.readouterr()
        assert found == code, said
        return said.out

    return called


@contextmanager
def engine_in(repo: Path, at: int | None = None) -> Iterator[Engine]:
    with Workspace(repo, person=True, at=at) as ws, ws._call() as call:
        yield call.engine


def do(repo: Path, key: str, command: Record, **more: Any) -> None:
    with engine_in(repo) as engine:
        engine.commit("person:anna", lambda work: work.do("note", key, command, **more))


@pytest.fixture
def noted(_known: None, repo: Path) -> Path:
    """Two notes, one of them closed."""
    do(repo, "n-1", NOTE)
    do(repo, "n-2", NOTE.replace(title="Tabs", body="", place=""))
    do(repo, "n-2", Close(reason="Spaces won."))
    return repo


pytestmark = pytest.mark.usefixtures("_known")


def test_it_is_decided_folded_and_listed(noted: Path) -> None:
    with engine_in(noted) as engine:
        store = engine.read()
        assert states.state(store, "note", "n-1")[0].title == NOTE.title
        assert [note.id for note in queries.things(store, "note", 10)] == ["n-1"]
        assert [note.id for note in queries.things(store, "note", 10, ended=True)] == ["n-2", "n-1"]
        with pytest.raises(Refused, match="needs a title"):
            engine.commit("person:anna", lambda work: work.do("note", "n-3", NOTE.replace(title="")))


def test_log_and_explain_say_its_sentences(noted: Path, moot: Moot) -> None:
    assert "note:closed note/n-2 by person:anna via python: closed: Spaces won." in moot("log")
    story = moot("explain", "n-2")
    assert "wrote “Tabs”" in story
    assert "closed: Spaces won." in story
    assert "wrote “Tabs”" in moot("explain", "note/n-2")
    assert "n-1" not in story


def test_search_finds_its_words_and_names_and_nothing_else(noted: Path, moot: Moot) -> None:
    for word in ("lease", SECRET, "lease.py"):
        (found,) = json.loads(moot("search", word, "--json"))["result"]
        assert (found["kind"], found["id"], found["state"]) == ("notes", "n-1", "open")
        assert found["title"] == NOTE.title
    assert json.loads(moot("search", "Ada", "--json"))["result"] == []
    assert len(json.loads(moot("search", "Tabs", "--kind", "notes", "--json"))["result"]) == 1


def test_redact_takes_its_words_and_verify_agrees(noted: Path, moot: Moot) -> None:
    moot("redact", "n-1", "--reason", "It is a secret.")
    for said in (moot("log"), moot("explain", "n-1"), moot("search", SECRET), moot("export")):
        assert SECRET not in said
    assert "src/lease.py" in moot("log", "--json"), "what rules go by stays"
    assert "sound" in moot("verify")
    with engine_in(noted) as engine:
        state = states.state(engine.read(), "note", "n-1")[0]
    assert (state.title, state.place) == ("[redacted]", NOTE.place)


def test_verify_finds_rows_that_differ(noted: Path, moot: Moot) -> None:
    assert "sound" in moot("verify")
    with engine_in(noted) as engine:
        store = engine.read()
        store.begin()
        store.run("put_thing", "note", "n-1", 0, 1, None)
        store.commit()
    assert "thing: the views have" in json.loads(moot("verify", "--json", code=1))["message"]


def test_the_past_has_it_as_it_was(noted: Path, moot: Moot) -> None:
    then = next(event for event in json.loads(moot("log", "--json"))["result"] if event["type"] == "note:closed")
    assert "closed" not in moot("--at", str(then["position"] - 1), "explain", "n-2")
    with engine_in(noted, then["position"] - 1) as engine:
        assert states.state(engine.read(), "note", "n-2")[0].status == "open"


def test_nobody_emits_its_events(noted: Path, moot: Moot) -> None:
    refused = json.loads(moot("emit", "note:written", "--json", code=1))
    assert (refused["error"], "take a note" in refused["remedy"]) == ("event_owned", True)


def test_a_handler_and_a_wait_know_its_events(noted: Path, moot: Moot) -> None:
    assert "note:closed" in moot("wait", "--type", "note:closed", "--after", "0")


# Kinds that this version of moot does not know.


EMIT = Emit(type="build:finished", topic="x", data={}, size=0, limit=0, owned={})


@contextmanager
def kinds_without(*names: str) -> Iterator[None]:
    """The table of an older version, which lacks these kinds."""
    use({name: place for name, place in TABLE.items() if name not in names})
    try:
        yield
    finally:
        use(TABLE)


def unknown(repo: Path, pack: str | None) -> None:
    """An event of a kind that nobody here knows, as a newer version would have written it."""
    with engine_in(repo) as engine:
        fact = Draft(stream="chronicle/harbour", type="chronicle:posted", data={"number": 1, "text": SECRET}, pack=pack)
        engine.log.append(Commit(id="1" * 26, at="2030-01-01T00:00:00.000Z", by="person:anna"), {}, (fact,))


def test_an_unknown_kind_of_a_pack_is_kept_by_version_and_everything_else_goes_on(repo: Path, moot: Moot) -> None:
    unknown(repo, "harbour")
    assert find("chronicle") is None
    moot("task", "add", "Go on", "--person")
    assert "chronicle:posted" in moot("log")
    assert SECRET in moot("explain", "chronicle/harbour")
    assert SECRET in moot("search", SECRET)
    assert "sound" in moot("verify")
    moot("redact", "chronicle/harbour")
    assert SECRET not in moot("log")


def test_a_pack_of_an_unknown_kind_changes_nothing_until_moot_knows_it(repo: Path, moot: Moot) -> None:
    unknown(repo, "harbour")
    with pytest.raises(Refused) as caught:
        do(repo, "n-1", NOTE, pack="harbour")
    assert (caught.value.code, caught.value.details["kind"]) == ("pack_not_understood", "chronicle")
    assert "Update moot" in caught.value.remedy
    do(repo, "n-1", NOTE, pack="another")


def test_a_verb_of_a_pack_that_is_not_active_says_how_to_turn_it_on(repo: Path, moot: Moot) -> None:
    unknown(repo, "harbour")
    moot("join", "Ada")
    refused = json.loads(moot("send", "Ada", "--type", "harbour/posted", "--data", "{}", "--json", code=4))
    assert (refused["error"], 'packs = ["harbour"]' in refused["remedy"]) == ("unknown_type", True)


def test_a_program_that_lacks_documents_and_activations_still_writes_everything_else(repo: Path, moot: Moot) -> None:
    (repo / "moot.toml").write_text('packs = ["orchestrator"]\n')
    opened = OpenDocument(mirror="fieldnotes/board", leaves={"/phase": 1})
    with engine_in(repo) as engine:
        engine.commit("person:anna", lambda work: work.do("document", "fieldnotes.-.board", opened))
        carried = {event.type: event.pack for event in engine.log.read()}
    assert carried == {"document:opened": "fieldnotes", "pack:activated": "orchestrator"}
    (repo / "moot.toml").unlink()
    with kinds_without("document", "pack"):
        with engine_in(repo) as engine:
            engine.rebuild()
        moot("task", "add", "Go on", "--person")
        assert "sound" in moot("verify")
        with engine_in(repo) as engine, pytest.raises(Refused, match="fieldnotes has entities of the kind document"):
            engine.commit("person:anna", lambda work: work.do("topic", "x", EMIT, pack="fieldnotes"))


def test_a_pack_that_is_not_understood_is_not_recorded_as_activated(repo: Path, moot: Moot) -> None:
    unknown(repo, "orchestrator")
    (repo / "moot.toml").write_text('packs = ["orchestrator"]\n')
    moot("task", "add", "Go on", "--person")
    assert "pack:activated" not in moot("log")


@pytest.mark.parametrize(
    ("stream", "kind", "v", "pack"),
    [
        ("chronicle/x", "chronicle:posted", 1, None),
        ("task/x", "task:dreamt", 1, "harbour"),
        ("task/x", "task:added", 9, "harbour"),
    ],
)
def test_anything_else_that_is_unknown_makes_the_log_read_only(
    repo: Path, moot: Moot, stream: str, kind: str, v: int, pack: str | None
) -> None:
    with engine_in(repo) as engine:
        fact = Draft(stream=stream, type=kind, v=v, data={}, pack=pack)
        engine.log.append(Commit(id="1" * 26, at="2030-01-01T00:00:00.000Z", by="person:anna"), {}, (fact,))
    assert json.loads(moot("task", "add", "No", "--json", code=7))["error"] == "newer_events"
    assert kind in moot("log")


def test_without_it_moot_knows_its_own_kinds_only() -> None:
    with more_kinds({}):
        assert find("note") is None
        assert [kind.name for kind in kinds()] == list(TABLE)
