"""The shared suite: what every log must do. An engine is finished when it passes, and not before.

A test module of an engine subclasses `LogConformance` and gives it the fixture `engine`.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from moot.core.errors import MootError, Usage
from moot.core.event import Commit, Draft, Event, Key
from moot.core.integrity import chain
from moot.core.json_codec import storable
from moot.log import Appended, Conflict, Duplicate, Log, Mismatch
from tests.logs.roles import AT, commit

if TYPE_CHECKING:
    from tests.logs.engines import Engine

Make = Callable[[], Log]


def draft(stream: str, **data: Any) -> Draft:
    return Draft(stream, "thing:done", data)


def everything(log: Log) -> list[Event]:
    """The whole log, page by page."""
    events: list[Event] = []
    while page := log.read(len(events), 500):
        events += page
    return events


def check_chain(events: list[Event]) -> None:
    """Positions without a gap, `prev` naming the event before in the stream, commits whole and in one piece."""
    last: dict[str, int] = {}
    numbers: dict[str, list[int]] = {}
    for expected, event in enumerate(events, 1):
        assert event.position == expected
        assert event.prev == last.get(event.stream, 0)
        last[event.stream] = event.position
        numbers.setdefault(event.commit, []).append(event.n)
        assert event.commit == events[event.position - 1 - event.n].commit
    assert all(found == list(range(len(found))) for found in numbers.values())


class Basics:
    """One process."""

    @pytest.fixture
    def make(self, engine: Engine) -> Iterator[Make]:
        """Opens another handle on the same log."""
        engine.create()
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(engine.open()))

    @pytest.fixture
    def log(self, make: Make) -> Log:
        return make()

    def test_a_new_log_is_empty(self, log):
        assert log.head() == 0
        assert log.read() == []
        assert list(log.follow(0, timeout=0)) == []

    def test_an_event_comes_back_as_it_was_appended(self, log):
        full = Draft("task/1", "task:started", {"a": [1, 2.5, None, True, {"b": "c"}]}, 3, "c.0", "thread", "pack")
        assert log.append(Commit("one", AT, "Yeats", "file a/b.json"), {}, [full]) == Appended(1, 1)
        expected = Event(1, full.type, 3, "task/1", 0, AT, "Yeats", full.data, "c.0", "thread", "pack", "one", 0)
        (event,) = log.read()
        assert event == expected.replace(via="file a/b.json", digest=event.digest)
        assert event.id == "one.0"

    def test_every_event_of_a_commit_shows_the_way_it_came_in(self, log):
        log.append(Commit("one", AT, "Yeats", "cli"), {}, [draft("a"), draft("b")])
        log.append(Commit("two", AT, "Yeats"), {}, [draft("a")])
        assert [event.via for event in log.read()] == ["cli", "cli", None]
        assert [event.via for event in log.read(stream="a")] == ["cli", None]
        assert [event.via for events in log.follow(0, timeout=0) for event in events] == ["cli", "cli", None]

    def test_every_event_has_a_digest_of_its_data(self, make):
        log, other = make(), make()
        log.append(commit("one"), {}, [draft("a", x=1), draft("b", x=1), draft("c", x=2)])
        one, two, three = (event.digest for event in log.read())
        assert one == two != three
        assert len(str(one)) == 64
        assert [event.digest for event in other.read()] == [one, two, three]
        assert [event.digest for event in other.read(stream="c")] == [three]

    def test_what_is_not_given_comes_back_as_nothing(self, log):
        log.append(commit("one"), {}, [draft("a")])
        event = log.read()[0]
        assert (event.v, event.cause, event.thread, event.pack, event.data) == (1, None, None, None, {})

    def test_a_commit_takes_consecutive_positions_over_several_streams(self, log):
        assert log.append(commit("one"), {}, [draft("a"), draft("b"), draft("a")]) == Appended(1, 3)
        assert log.append(commit("two"), {}, [draft("b"), draft("a"), draft("a")]) == Appended(4, 6)
        events = log.read()
        assert [(event.stream, event.prev) for event in events] == [
            ("a", 0), ("b", 0), ("a", 1), ("b", 2), ("a", 3), ("a", 5),
        ]  # fmt: skip
        assert [event.id for event in events[3:]] == ["two.0", "two.1", "two.2"]
        assert log.head() == 6
        check_chain(events)

    def test_a_condition_that_holds_lets_the_commit_in(self, log):
        log.append(commit("one"), {"a": 0}, [draft("a"), draft("b")])
        assert log.append(commit("two"), {"a": 1, "b": 2, "never": 0}, [draft("a")]) == Appended(3, 3)

    @pytest.mark.parametrize("claimed", [0, 1, 4])
    def test_a_conflict_names_the_stream_and_its_version_and_writes_nothing(self, log, claimed):
        log.append(commit("one"), {}, [draft("a"), draft("a"), draft("b")])
        assert log.append(commit("two"), {"b": 3, "a": claimed}, [draft("a"), draft("c")]) == Conflict("a", 2)
        assert log.head() == 3
        assert log.append(commit("two"), {"a": 2}, [draft("c")]) == Appended(4, 4)

    def test_no_two_events_follow_the_same_one_even_if_the_log_ends_where_it_did(self, log):
        """Nobody else has written, and the caller is wrong all the same: by chance, or by mistake."""
        log.append(commit("one"), {}, [draft("a"), draft("a"), draft("b")])
        for wrong in (0, 1, 3, 4):
            with log.exclusive():
                assert log.head() == 3
                answer = log.append(commit("two"), {"c": 0, "a": wrong}, [draft("c"), draft("a")])
            assert answer == Conflict("a", 2)
        assert log.head() == 3
        assert log.append(commit("two"), {"c": 0, "a": 2}, [draft("c"), draft("a")]) == Appended(4, 5)

    def test_a_known_commit_is_a_duplicate_whatever_its_conditions_say(self, log):
        log.append(commit("one"), {"a": 0}, [draft("a")])
        for conditions in ({}, {"a": 0}, {"a": 1}, {"a": 7, "b": 7}):
            assert log.append(commit("one"), conditions, [draft("a"), draft("b")]) == Duplicate(1, 1)

    def test_a_conflict_names_the_first_stream_that_moved(self, log: Log) -> None:
        log.append(commit("one"), {}, [draft("a")])
        assert log.append(commit("two"), {"a": 0, "b": 1}, [draft("b"), draft("a")]) == Conflict("a", 1)

    def test_a_stream_that_is_only_read_is_a_condition_too(self, log):
        log.append(commit("one"), {}, [draft("read")])
        assert log.append(commit("two"), {"read": 0}, [draft("written")]) == Conflict("read", 1)

    def test_the_same_commit_again_is_a_duplicate_at_the_same_positions(self, log, make):
        log.append(commit("one"), {}, [draft("a")])
        log.append(commit("two"), {}, [draft("a"), draft("b")])
        assert log.append(commit("two"), {"a": 0}, [draft("a"), draft("b")]) == Duplicate(2, 3)
        assert make().append(commit("two"), {}, [draft("a")]) == Duplicate(2, 3)
        assert log.head() == 3

    def test_the_same_request_again_is_a_duplicate_whatever_happened_since(self, log, make):
        key = Key("Yeats", "k1", "digest")
        assert log.append(commit("one"), {"a": 0}, [draft("a"), draft("b")], key) == Appended(1, 2)
        log.append(commit("two"), {}, [draft("a")])
        assert log.append(commit("three"), {"a": 0}, [draft("a")], key) == Duplicate(1, 2)
        assert make().append(commit("four"), {}, [draft("a")], key) == Duplicate(1, 2)
        assert log.head() == 3

    def test_another_request_under_the_same_key_is_a_mismatch(self, log, make):
        log.append(commit("zero"), {}, [draft("a")])
        log.append(commit("one"), {}, [draft("a")], Key("Yeats", "k1", "digest"))
        for handle in (log, make()):
            answer = handle.append(commit("two"), {"a": 0}, [draft("a")], Key("Yeats", "k1", "other"))
            assert answer == Mismatch("k1", 2)
        assert log.head() == 2

    def test_a_key_belongs_to_its_scope(self, log):
        log.append(commit("one"), {}, [draft("a")], Key("Yeats", "k1", "digest"))
        assert log.append(commit("two"), {}, [draft("a")], Key("Heaney", "k1", "other")) == Appended(2, 2)
        assert log.append(commit("three"), {}, [draft("a")], Key("Yeats", "k2", "other")) == Appended(3, 3)

    def test_a_conflict_uses_up_neither_commit_nor_key(self, log):
        log.append(commit("one"), {}, [draft("a")])
        key = Key("Yeats", "k1", "digest")
        assert log.append(commit("two"), {"a": 0}, [draft("a")], key) == Conflict("a", 1)
        assert log.append(commit("two"), {"a": 1}, [draft("a")], key) == Appended(2, 2)

    def test_without_events_only_the_question_is_answered(self, log):
        key = Key("Yeats", "k1", "digest")
        assert log.append(commit("one"), {"a": 7}, [], key) == Appended(0, 0)
        assert log.append(commit("one"), {}, [], key) == Appended(0, 0)
        log.append(commit("one"), {}, [draft("a"), draft("a")], key)
        assert log.append(commit("one"), {"a": 7}, []) == Duplicate(1, 2)
        assert log.append(commit("two"), {}, [], key) == Duplicate(1, 2)
        assert log.append(commit("two"), {}, [], Key("Yeats", "k1", "other")) == Mismatch("k1", 1)
        assert log.append(commit("two"), {}, []) == Appended(0, 0)
        assert log.head() == 2

    def test_reading_starts_after_a_position_and_ends_at_the_limit(self, log):
        for number in range(5):
            log.append(commit(f"c{number}"), {}, [draft("a", i=number), draft("b", i=number)])
        assert [event.position for event in log.read(3, 4)] == [4, 5, 6, 7]
        assert [event.position for event in log.read(0, 1)] == [1]
        assert [event.position for event in log.read(9)] == [10]
        assert log.read(10) == log.read(11) == log.read(0, 0) == []
        assert [event.position for event in log.read(-5, 2)] == [1, 2]

    def test_one_stream_is_read_alone_page_by_page(self, log):
        for number in range(5):
            log.append(commit(f"c{number}"), {}, [draft("a", i=number), draft("b", i=number)])
        assert [event.data["i"] for event in log.read(stream="b")] == [0, 1, 2, 3, 4]
        assert [event.position for event in log.read(2, 2, "b")] == [4, 6]
        assert [event.position for event in log.read(6, 2, "b")] == [8, 10]
        assert log.read(stream="c") == []

    def test_a_stream_is_read_past_any_position_of_the_log(self, log):
        for i in range(12):
            log.append(commit(f"c{i}"), {}, [draft("a" if i % 3 else "b", i=i)])
        everything = log.read()
        for after in range(14):
            for limit in (0, 1, 3, 100):
                expected = [event for event in everything if event.stream == "b" and event.position > after][:limit]
                assert log.read(after, limit, "b") == expected

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "naïve 日本語 🧵 \u202e \u2028",
            "\x00\x1b[31m\x7f",
            'q"\\\n\r\t',
            "\ud83d alone \udc00",
            "e\u0301 é",
            "' ; --",
        ],
        ids=["empty", "unicode", "control", "quotes", "surrogate", "unnormalised", "sql"],
    )
    def test_text_comes_back_exactly(self, log, make, text):
        log.append(commit("one"), {}, [draft("a", **{"text": text, "k" + text: [text]})])
        assert make().read()[0].data == {"text": text, "k" + text: [text]}

    def test_names_may_be_any_text(self, log):
        name = "mailbox/Ünï 🧵 'x' \"y\" %_*"
        key = Key(name, name, name)
        log.append(Commit(name, AT, name), {name: 0}, [Draft(name, name, {}, 1, name, name, name)], key)
        event = log.read(stream=name)[0]
        assert {event.stream, event.type, event.by, event.cause, event.thread, event.pack, event.commit} == {name}
        assert log.append(commit("two"), {name: 0}, [draft(name)]) == Conflict(name, 1)
        assert log.append(commit("two"), {}, [draft(name)], key) == Duplicate(1, 1)

    def test_numbers_come_back_exactly(self, log):
        numbers = [0, -1, 2**53 + 1, 2**63, -(10**30), 0.1, 1e300, -0.0, True]
        log.append(commit("one"), {}, [draft("a", numbers=numbers)])
        assert repr(log.read()[0].data["numbers"]) == repr(numbers)

    def test_large_events_come_back_whole(self, log, make):
        text = "0123456789abcdé" * 200_000
        log.append(commit("one"), {}, [draft("a", text=text), draft("b", text=text[::-1])])
        first, second = make().read()
        assert first.data["text"] == text
        assert second.data["text"] == text[::-1]

    def test_a_large_commit_is_one_commit(self, log):
        assert log.append(commit("one"), {}, [draft(f"s/{i % 7}", i=i) for i in range(1300)]) == Appended(1, 1300)
        events = everything(log)
        assert [event.data["i"] for event in events] == list(range(1300))
        check_chain(events)

    @pytest.mark.parametrize(
        "value", [float("nan"), float("inf"), {1, 2}, b"bytes", object()], ids=["nan", "inf", "set", "bytes", "object"]
    )
    def test_what_json_cannot_say_is_refused_and_nothing_is_written(self, log, value):
        with pytest.raises(Usage) as refusal:
            log.append(commit("one"), {}, [draft("a"), draft("b", value=value)])
        assert refusal.value.code == "not_json"
        assert log.head() == 0
        assert log.append(commit("one"), {}, [draft("a")]) == Appended(1, 1)

    def test_a_name_that_is_no_text_is_refused_and_nothing_is_written(self, log):
        with pytest.raises(Usage) as refusal:
            log.append(commit("one"), {}, [draft("fine"), draft("\udc80")])
        assert refusal.value.code == "not_text"
        assert log.head() == 0
        assert log.append(commit("one"), {}, [draft("a")]) == Appended(1, 1)

    def test_everything_is_there_after_opening_again(self, engine):
        engine.create()
        with closing(engine.open()) as log:
            log.append(commit("one"), {}, [draft("a"), draft("b")], Key("Yeats", "k1", "digest"))
            before = log.read()
        engine.create()
        with closing(engine.open()) as log:
            assert log.read() == before
            assert log.append(commit("one"), {}, [draft("a")]) == Duplicate(1, 2)
            assert log.append(commit("two"), {}, [draft("a")], Key("Yeats", "k1", "digest")) == Duplicate(1, 2)
            assert log.append(commit("two"), {"a": 1}, [draft("a")]) == Appended(3, 3)

    def test_a_closed_handle_says_so(self, engine):
        engine.create()
        log = engine.open()
        log.close()
        log.close()
        for attempt in (log.head, log.read, lambda: log.append(commit("one"), {}, [draft("a")])):
            with pytest.raises(MootError) as refusal:
                attempt()
            assert refusal.value.code == "log_closed"

    def test_handles_see_each_other_at_once(self, make):
        one, two = make(), make()
        for number in range(10):
            writer, reader = (one, two) if number % 2 else (two, one)
            writer.append(commit(f"c{number}"), {"a": number}, [draft("a")])
            assert reader.head() == number + 1
            assert reader.read(number)[0].commit == f"c{number}"

    def test_inside_exclusive_one_reads_and_appends(self, make):
        log, other = make(), make()
        with log.exclusive():
            assert log.head() == 0
            log.append(commit("one"), {"a": 0}, [draft("a")])
            assert log.read()[0].commit == "one"
            assert other.read()[0].commit == "one"
            log.append(commit("two"), {"a": 1}, [draft("a")])
        assert other.append(commit("three"), {"a": 2}, [draft("a")]) == Appended(3, 3)

    def test_an_error_inside_exclusive_lets_the_next_one_in(self, make):
        log, other = make(), make()
        with pytest.raises(ZeroDivisionError), log.exclusive():
            raise ZeroDivisionError
        assert other.append(commit("one"), {}, [draft("a")]) == Appended(1, 1)
        with log.exclusive():
            log.append(commit("two"), {}, [draft("a")])
        assert other.head() == 2


class Following:
    """`follow`, in one process and across several."""

    make = Basics.make
    log = Basics.log

    def test_following_gives_what_is_there_and_ends_in_time(self, log):
        log.append(commit("one"), {}, [draft("a"), draft("b")])
        log.append(commit("two"), {}, [draft("a")])
        positions = [event.position for events in log.follow(0, timeout=0) for event in events]
        assert positions == [1, 2, 3]
        assert [event.position for events in log.follow(2, timeout=0.05) for event in events] == [3]
        assert list(log.follow(3, timeout=0.05)) == []

    def test_a_commit_larger_than_any_page_comes_whole(self, log):
        sizes = [499, 3, 1, 1400, 2]
        for number, size in enumerate(sizes):
            log.append(commit(f"c{number}"), {}, [draft("a", of=size) for _ in range(size)])
        lists = list(log.follow(0, timeout=0))
        assert [event.position for events in lists for event in events] == list(range(1, sum(sizes) + 1))
        for events in lists:
            for event in events:
                assert sum(other.commit == event.commit for other in events) == event.data["of"]

    def test_what_comes_while_following_comes_out(self, make):
        log, other = make(), make()
        following = log.follow(0, timeout=30)
        for number in range(5):
            other.append(commit(f"c{number}"), {}, [draft("a"), draft("b")])
            assert [event.commit for event in next(following)] == [f"c{number}"] * 2
        following.close()

    def test_following_ends_at_once_when_it_is_told_to(self, log):
        stop, hold = os.pipe()
        log.append(commit("one"), {}, [draft("a")])
        following = log.follow(0, stop=stop)
        assert [event.commit for event in next(following)] == ["one"]
        later = threading.Timer(0.05, os.close, [hold])
        later.start()
        assert list(following) == []
        later.join()
        os.close(stop)

    def test_one_may_append_to_the_log_that_one_follows(self, log):
        log.append(commit("c0"), {}, [draft("a")])
        seen = []
        for events in log.follow(0, timeout=30):
            seen += [event.commit for event in events]
            if len(seen) == 5:
                break
            log.append(commit(f"c{len(seen)}"), {}, [draft("a")])
        assert seen == ["c0", "c1", "c2", "c3", "c4"]

    @pytest.mark.promise(2)
    def test_followers_in_other_processes_get_every_commit_whole_once_and_in_order(self, engine, make):
        with ExitStack() as stack:
            followers = [stack.enter_context(engine.worker("follow", after=0, until=10**9)) for _ in range(2)]
            for follower in followers:
                assert follower.hear() == "ready"
            writers = [stack.enter_context(engine.worker("write", me=f"w{n}", commits=60, seed=n)) for n in range(2)]
            for writer in writers:
                assert len(writer.rest()) == 60
            expected = everything(make())
            for follower in followers:
                got: list[tuple[int, str]] = []
                while len(got) < len(expected):
                    events = follower.hear()
                    got += [(position, name) for position, name, _ in events]
                    commits = Counter(name.rpartition(".")[0] for _, name, _ in events)
                    assert all(commits[name.rpartition(".")[0]] == size for _, name, size in events)
                assert got == [(event.position, event.id) for event in expected]
        check_chain(expected)

    @pytest.mark.promise(2)
    def test_a_killed_follower_goes_on_where_it_was(self, engine, make):
        log = make()
        seen: list[list[Any]] = []
        with engine.worker("write", me="w"):
            for _ in range(4):
                with engine.worker("follow", after=seen[-1][0] if seen else 0, until=10**9) as follower:
                    assert follower.hear() == "ready"
                    seen += follower.hear()
        with engine.worker("follow", after=seen[-1][0], until=log.head()) as follower:
            assert follower.hear() == "ready"
            for events in follower.rest():
                seen += events
        assert [(position, name) for position, name, _ in seen] == [(e.position, e.id) for e in everything(log)]


class Races:
    """Several workers that write."""

    make = Basics.make
    log = Basics.log

    @staticmethod
    def start(stack: ExitStack, engine: Engine, role: str, number: int, **arguments: Any) -> list[Any]:
        """That many processes, all ready."""
        workers: list[Any] = [stack.enter_context(engine.worker(role, me=me, **arguments)) for me in range(number)]
        for worker in workers:
            assert worker.hear() == "ready"
        return workers

    @pytest.mark.promise(7)
    def test_a_stream_has_one_first_event_however_many_race_for_it(self, engine, log):
        rounds = 40
        with ExitStack() as stack:
            workers = self.start(stack, engine, "race", 6, rounds=rounds)
            for worker in workers:
                worker.tell()
            said = [answer for worker in workers for answer in worker.rest()]
        for number in range(rounds):
            won = [position for what, which, position in said if (what, which) == ("won", number)]
            lost = [position for what, which, position in said if (what, which) == ("lost", number)]
            assert len(won) == 1
            assert lost == won * 5
        events = everything(log)
        assert len(events) == rounds
        check_chain(events)

    def test_no_increment_is_lost(self, engine, log):
        with ExitStack() as stack:
            workers = self.start(stack, engine, "count", 4, times=15)
            for worker in workers:
                worker.tell()
            for worker in workers:
                worker.rest()
        events = everything(log)
        assert [event.data["value"] for event in events] == list(range(1, 61))
        assert all(event.prev == event.data["seen"] for event in events)

    def test_unconditional_writers_do_not_slip_between_a_condition_and_its_commit(self, engine, log):
        with ExitStack() as stack:
            workers = self.start(stack, engine, "interfere", 2, times=60)
            workers += self.start(stack, engine, "depend", 1, times=10)
            for worker in workers:
                worker.tell()
            for worker in workers:
                worker.rest()
        events = everything(log)
        check_chain(events)
        moved = [event for event in events if event.type == "shared:moved"]
        assert moved
        assert all(event.prev == event.data["seen"] for event in moved)

    def test_two_who_rely_on_each_other_never_both_leave(self, engine, log):
        rounds = 40
        with ExitStack() as stack:
            workers = self.start(stack, engine, "leave", 2, rounds=rounds)
            for _ in range(rounds):
                for worker in workers:
                    worker.tell()
                for worker in workers:
                    worker.hear()
        events = everything(log)
        left = [event.stream.rpartition("/")[0] for event in events]
        assert len(left) == len(set(left)) == rounds

    def test_a_repeat_from_another_process_gets_the_first_answer(self, engine, log):
        log.append(commit("zero"), {}, [draft("a")])
        log.append(commit("one"), {}, [draft("a"), draft("b")])
        with engine.worker("repeat", name="one", streams=["a", "b"]) as worker:
            assert worker.hear() == ["Duplicate", 2, 3]
        with engine.worker("repeat", name="two", streams=["a"]) as worker:
            assert worker.hear() == ["Appended", 4, 4]
        assert log.append(commit("two"), {}, [draft("a")]) == Duplicate(4, 4)


def quiet(_done: int, _of: int) -> None:
    """No progress is shown."""


class Archives:
    """The log as a whole, where the engine offers that."""

    make = Basics.make
    log = Basics.log

    def fill(self, log):
        log.append(Commit("one", AT, "Yeats", "cli"), {}, [draft("a", x=1), draft("b", x="ü"), draft("a")])
        log.append(Commit("two", AT, "Keats"), {}, [draft("b")])

    def test_only_what_a_tombstone_names_is_replaced_and_in_one_step_with_it(self, log, make):
        self.fill(log)
        gone, digest = {"x": "[redacted]"}, log.read()[0].digest
        gone["redacted"] = digest
        named = {"position": 1, "commit": "one", "n": 0, "digest": digest, "fields": ["x"]}
        named["rest"] = chain.digest_of(storable(gone).encode()).hex()
        stone = Draft("redactions", "event:redacted", named)
        for events, rows in (([draft("a")], {1: gone}), ([stone], {2: gone}), ([stone], {1: {"x": 2}})):
            with pytest.raises((apsw.ConstraintError, ValueError)):
                log.archive.redact(commit("bad"), {}, events, rows)
        assert (log.head(), log.read()[0].data) == (4, {"x": 1})
        assert log.archive.redact(commit("bad"), {"a": 1}, [stone], {1: gone}) == Conflict("a", 3)
        assert log.archive.redact(commit("three"), {"redactions": 0}, [stone], {1: gone}) == Appended(5, 5)
        log.archive.rewrite()
        (event, *_) = make().read()
        assert (event.data, event.digest) == (gone, digest)
        assert [*log.archive.audit(5, quiet)] == []


class LogConformance(Basics, Following, Races, Archives):
    """All of it."""
