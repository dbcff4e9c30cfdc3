"""Feeds in the views: what a file shows, what is found again, and that everything else moot does works with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot import Workspace
from moot.core.deciders.feed import ListRows, NoteInFeed, PostEntry, SetFeed, fingerprint
from moot.surfaces.cli.main import main
from moot.views import feeds

if TYPE_CHECKING:
    from moot.engine.engine import Engine

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
SECRET = "swordfish"
Moot = Callable[..., str]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "repo"
    where.mkdir()
    Workspace.init(where, person=True).close()
    monkeypatch.chdir(where)
    monkeypatch.setenv("MOOT_PERSON", "1")
    return where


@pytest.fixture
def moot(capfd: pytest.CaptureFixture[str]) -> Moot:
    def called(*words: str, code: int = 0) -> str:
        found = main(list(words))
        said = capfd.readouterr()
        assert found == code, said.out + said.err
        return said.out

    return called


@contextmanager
def engine_in(repo: Path) -> Iterator[Engine]:
    with Workspace(repo, person=True) as ws, ws._call() as call:
        yield call.engine


def post(repo: Path, *commands: Any) -> None:
    with engine_in(repo) as engine:
        for command in commands:
            engine.commit("person:anna", lambda work, command=command: work.do("feed", "harbour", command))


def entry(text: str, **more: Any) -> PostEntry:
    event = {"type": "ship:sighted", "text": text}
    keys = {"type": (event["type"],), **{key: (value,) for key, value in more.items()}}
    return PostEntry(event=event, stamps=("no",), keys=keys, prints=(fingerprint(event),))


@given(VALUES)
def test_the_text_is_that_of_every_other_program(value: Any) -> None:
    assert feeds.shown(value, "") == json.dumps(value, indent=2, ensure_ascii=False)


def test_entries_are_found_by_number_key_fingerprint_and_time(repo: Path) -> None:
    post(repo, entry("a", pier="1"), entry("b", pier="1", crew="x"), entry("c", pier="2", crew="x"))
    with engine_in(repo) as engine:
        store = engine.read()

        def texts(*keys: tuple[str, str], **more: Any) -> list[str]:
            return [found.event["text"] for found in feeds.entries(store, "harbour", keys, **more)]

        assert texts() == ["a", "b", "c"]
        assert texts(("pier", "1")) == ["a", "b"]
        assert texts(("crew", "x"), ("pier", "1")) == ["b"]
        assert texts(("crew", "x"), ("pier", "3")) == []
        assert texts(after=1, limit=1) == ["b"]
        assert texts(("crew", "x"), after=2) == ["c"]
        first = feeds.entry(store, "harbour", 1)
        assert first is not None
        assert first.event == {"type": "ship:sighted", "text": "a", "no": 1}
        assert texts(since=first.at + 3600) == []
        assert len(texts(until=first.at + 3600)) == 3
        assert [e.number for e in feeds.last_entries(store, "harbour", 2)] == [3, 2]
        assert [e.number for e in feeds.last_entries(store, "harbour", 2, [("pier", "1"), ("crew", "x")])] == [2]
        assert feeds.values(store, "harbour", "pier") == {"1": 2, "2": 3}
        known = fingerprint({"type": "ship:sighted", "text": "b"})
        assert feeds.by_fingerprint(store, "harbour", [known, "0" * 24]) == {known: [2]}
        assert feeds.entry(store, "harbour", 4) is None


def test_entries_leave_the_file_one_by_one(repo: Path) -> None:
    post(repo, *map(entry, "abcde"))
    with engine_in(repo) as engine:
        store = engine.read()
        store.begin()
        for number in range(1, 6):  # as if each had come a day after the one before
            store.db.execute("UPDATE feed_entry SET at = ? WHERE number = ?", (number, number))
        found = [
            "".join(json.loads(t)["text"] for _, t in feeds.shown_texts(store, "harbour", cut)) for cut in range(7)
        ]
        text = feeds.shown_text(store, "harbour", 4).decode()
        store.rollback()
    assert found == ["abcde", "abcde", "bcde", "cde", "de", "e", ""]
    assert [one["text"] for one in json.loads(f"[{text}]")] == ["d", "e"]


def test_a_list_has_one_row_for_each_key_in_the_order_of_its_first(repo: Path) -> None:
    post(
        repo,
        ListRows(list="docked", puts={"b": {"n": 1}, "a": {"n": 2}}),
        ListRows(list="docked", puts={"c": 3}),
        ListRows(list="docked", puts={"b": {"n": 4}}),
        ListRows(list="gone", puts={"z": 1}),
    )
    with engine_in(repo) as engine:
        assert feeds.rows(engine.read(), "harbour", "docked") == {"a": {"n": 2}, "b": {"n": 4}, "c": 3}
        assert json.loads(f"[{feeds.list_text(engine.read(), 'harbour', 'docked')}]") == [{"n": 2}, {"n": 4}, 3]
    post(repo, ListRows(list="docked", drops=("b", "x")), ListRows(list="docked", puts={"b": 5}))
    with engine_in(repo) as engine:
        assert list(feeds.rows(engine.read(), "harbour", "docked")) == ["a", "c", "b"]
        table = f"{{{feeds.table_text(engine.read(), 'harbour', 'docked')}}}"
        assert json.loads(table) == {"a": {"n": 2}, "c": 3, "b": 5}
        assert feeds.row(engine.read(), "harbour", "docked", "c") == 3
        assert feeds.row(engine.read(), "harbour", "docked", "x") is None
        assert feeds.rows(engine.read(), "harbour", "docked", ("a", "c")) == {"a": {"n": 2}, "b": 5}


def test_a_row_can_be_changed_in_part(repo: Path, moot: Moot) -> None:
    post(
        repo,
        ListRows(list="docked", puts={"a": {"n": 1, "m": 2}}),
        ListRows(list="docked", puts={"a": {"n": 3, "m": None}, "b": {"k": 1}}, merges=True),
        ListRows(list="docked", puts={"a": {"x": 4}}, merges=True),
    )
    with engine_in(repo) as engine:
        assert feeds.rows(engine.read(), "harbour", "docked") == {"a": {"n": 3, "x": 4}, "b": {"k": 1}}
    assert "sound" in moot("verify")


def test_notes_are_in_order(repo: Path) -> None:
    post(repo, NoteInFeed(text="low water", who="person:anna"), NoteInFeed(text="fog"))
    with engine_in(repo) as engine:
        first, second = feeds.notes(engine.read(), "harbour")
        assert (first.text, first.who, second.text) == ("low water", "person:anna", "fog")
        assert feeds.notes(engine.read(), "harbour", first.position) == [second]


def test_search_redact_explain_verify_and_export_know_feeds(repo: Path, moot: Moot) -> None:
    post(repo, SetFeed(set={"keep": "24h"}), entry(f"it says {SECRET}", pier="1"), entry("calm"))
    post(repo, ListRows(list="docked", puts={"a": 1}), NoteInFeed(text="fog"))
    assert SECRET in moot("explain", "feed/harbour")
    assert SECRET in moot("search", SECRET)
    with engine_in(repo) as engine:
        assert [found.number for found in feeds.entries(engine.read(), "harbour")] == [1, 2]
    position = next(e["position"] for e in json.loads(moot("log", "--json"))["result"] if SECRET in json.dumps(e))
    moot("redact", str(position))
    for said in (moot("log"), moot("explain", "feed/harbour"), moot("search", SECRET), moot("export")):
        assert SECRET not in said
    assert "sound" in moot("verify")
    with engine_in(repo) as engine:
        text = feeds.shown_text(engine.read(), "harbour", 0).decode()
    assert SECRET not in text
    assert json.loads(f"[{text}]")[0] == {"type": "ship:sighted", "pier": "1", "no": 1, "redacted": True}


def test_verify_finds_an_entry_that_was_changed_in_the_views(repo: Path, moot: Moot) -> None:
    post(repo, entry("a"))
    with engine_in(repo) as engine:
        store = engine.read()
        store.begin()
        store.db.execute("UPDATE feed_entry SET text = '{}'")
        store.commit()
    assert "feed_entry: the views have" in json.loads(moot("verify", "--json", code=1))["message"]
