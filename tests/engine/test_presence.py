"""Who was seen when, and the clock that says so."""

from __future__ import annotations

import multiprocessing
import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from moot.core.errors import Unavailable
from moot.engine.clock import Clock
from moot.engine.presence import Presence


class SteppedClock(Clock):
    """Time passes when a test says so."""

    def __init__(self, monotonic: float = 5000.0, wall: float = 1_900_000_000.0, boot: str = "b001") -> None:
        self.now = monotonic
        self.wall_now = wall
        self.boot = boot

    def step(self, seconds: float) -> None:
        self.now += seconds
        self.wall_now += seconds

    def reboot(self, boot: str) -> None:
        self.boot, self.now = boot, 0.0

    def wall_seconds(self) -> float:
        return self.wall_now

    def monotonic(self) -> float:
        return self.now

    def boot_id(self) -> str:
        return self.boot


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def presence(tmp_path: Path, clock: SteppedClock) -> Presence:
    return Presence(str(tmp_path), clock)


# Silence


@pytest.mark.promise(8)
def test_silence_is_the_time_since_the_last_stamp(presence: Presence, clock: SteppedClock) -> None:
    presence.stamp("Yeats", 1)
    assert presence.silence("Yeats", 1) == 0
    clock.step(90.25)
    assert presence.silence("Yeats", 1) == pytest.approx(90.25)
    presence.stamp("Yeats", 1)
    clock.step(1)
    assert presence.silence("Yeats", 1) == pytest.approx(1)


@pytest.mark.promise(8)
@pytest.mark.parametrize("jump", [timedelta(hours=1), -timedelta(hours=1), timedelta(days=40000)])
def test_a_jump_of_the_wall_clock_changes_nothing(presence: Presence, clock: SteppedClock, jump: timedelta) -> None:
    presence.stamp("Yeats", 1)
    clock.step(10)
    clock.wall_now += jump.total_seconds()
    assert presence.silence("Yeats", 1) == pytest.approx(10)
    presence.stamp("Heaney", 1)
    assert presence.silence("Yeats", 1) == pytest.approx(10)


@pytest.mark.promise(8)
def test_a_new_boot_starts_the_count_anew(tmp_path: Path, clock: SteppedClock) -> None:
    Presence(str(tmp_path), clock).stamp("Yeats", 1)
    clock.step(100_000)
    clock.reboot("b002")
    clock.step(30)
    after = Presence(str(tmp_path), clock)
    assert after.silence("Yeats", 1) == pytest.approx(30)
    after.stamp("Yeats", 1)
    clock.step(5)
    assert after.silence("Yeats", 1) == pytest.approx(5)


def test_incarnations_and_names_are_kept_apart(presence: Presence, clock: SteppedClock) -> None:
    for name, incarnation in (("a", 1), ("a", 11), ("a.1", 1), ("a-1_b.2", 3), ("Z" * 64, 10**12)):
        presence.stamp(name, incarnation)
        clock.step(1)
    ages = [presence.silence(*who) for who in (("a", 1), ("a", 11), ("a.1", 1), ("a-1_b.2", 3), ("Z" * 64, 10**12))]
    assert ages == pytest.approx([5, 4, 3, 2, 1])
    assert presence.silence("a", 2) == clock.now


def test_who_was_never_seen_is_silent_since_boot(presence: Presence, clock: SteppedClock) -> None:
    assert presence.silence("Nobody", 1) == clock.now


def test_who_is_forgotten_was_never_seen(presence: Presence, clock: SteppedClock) -> None:
    presence.stamp("Yeats", 1)
    presence.forget("Yeats", 1)
    presence.forget("Yeats", 1)
    assert presence.silence("Yeats", 1) == clock.now


def test_a_stamp_from_the_future_counts_as_now(presence: Presence, clock: SteppedClock) -> None:
    presence.stamp("Yeats", 1)
    clock.now -= 1000
    assert presence.silence("Yeats", 1) == 0


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "1st", "a b", "a\nb", "é", "x" * 65, "~draft", "a\0"])
def test_whatever_a_log_calls_somebody_the_stamp_is_a_file_in_its_folder(
    tmp_path: Path, presence: Presence, clock: SteppedClock, name: str
) -> None:
    presence.stamp(name, 1)
    clock.now += 5
    assert presence.silence(name, 1) == 5
    (folder,) = (tmp_path / "presence").iterdir()
    (stamp,) = folder.iterdir()
    assert stamp.is_file()
    presence.forget(name, 1)
    assert presence.silence(name, 1) == clock.now
    assert list(folder.iterdir()) == []


def test_roles_and_plans_are_kept_apart_from_agents(presence: Presence, clock: SteppedClock) -> None:
    for name in ("role:dev", "plan:dev", "dev"):
        presence.stamp(name, 1)
        clock.now += 10
    assert [presence.silence(name, 1) for name in ("role:dev", "plan:dev", "dev", "ROLE:DEV")] == [30, 20, 10, 30]


# The files


def stamps(tmp_path: Path) -> list[Path]:
    return sorted(path for path in tmp_path.rglob("*") if path.is_file())


def test_stamping_leaves_one_small_file_and_no_draft(tmp_path: Path, presence: Presence) -> None:
    for _ in range(3):
        presence.stamp("Yeats", 7)
    [stamp] = stamps(tmp_path)
    assert stamp == tmp_path / "presence" / "b001" / "yeats.7"
    assert stamp.stat().st_size < 100


@pytest.mark.parametrize("damage", [b"", b"x" * 42, b"0000000005000.000000\n0000000005000.000001\n", b"\xff" * 500])
def test_what_was_never_a_stamp_is_none_and_the_next_stamp_mends_it(
    tmp_path: Path, presence: Presence, clock: SteppedClock, damage: bytes
) -> None:
    presence.stamp("Yeats", 1)
    stamps(tmp_path)[0].write_bytes(damage)
    clock.step(1)
    assert presence.silence("Yeats", 1) == clock.now
    presence.stamp("Yeats", 1)
    assert presence.silence("Yeats", 1) == 0


def _stamp_on(state: str, stop: multiprocessing.synchronize.Event) -> None:
    presence = Presence(state, Clock())
    while not stop.is_set():
        presence.stamp("Yeats", 1)


@pytest.mark.promise(8)
def test_a_reader_beside_busy_writers_never_sees_a_wrong_time(tmp_path: Path) -> None:
    """Half a stamp, an empty one or a mixture of two would read as a long silence and end a lease."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    clock = Clock()
    presence = Presence(str(tmp_path), clock)
    begun = clock.monotonic() - 0.001  # a stamp is rounded
    presence.stamp("Yeats", 1)
    writers = [context.Process(target=_stamp_on, args=(str(tmp_path), stop), daemon=True) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(20_000):
            assert presence.silence("Yeats", 1) <= clock.monotonic() - begun
    finally:
        stop.set()
        for writer in writers:
            writer.join(30)
    assert [writer.exitcode for writer in writers] == [0, 0]


def _stamp_first(state: str, start: multiprocessing.synchronize.Event) -> None:
    presence = Presence(state, Clock())
    start.wait(30)
    for incarnation in range(200):
        presence.stamp("Yeats", incarnation)


def test_processes_that_stamp_first_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    writers = [context.Process(target=_stamp_first, args=(str(tmp_path), start), daemon=True) for _ in range(4)]
    for writer in writers:
        writer.start()
    start.set()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert len(stamps(tmp_path)) == 200


def test_old_boots_are_swept_and_young_ones_kept(tmp_path: Path, clock: SteppedClock) -> None:
    clock.wall_now = time.time()
    for boot in ("old", "young"):
        clock.reboot(boot)
        Presence(str(tmp_path), clock).stamp("Yeats", 1)
    for path in (tmp_path / "presence" / "old" / "yeats.1", tmp_path / "presence" / "old"):
        os.utime(path, (clock.wall_now - 8 * 86400,) * 2)
    clock.reboot("new")
    Presence(str(tmp_path), clock).stamp("Yeats", 1)
    assert sorted(os.listdir(tmp_path / "presence")) == ["new", "young"]


@pytest.mark.promise(15)
def test_a_stamp_that_cannot_be_written_or_read_is_an_error_and_not_silence(tmp_path: Path, presence: Presence) -> None:
    (tmp_path / "presence").write_text("in the way")
    for call in (presence.stamp, presence.silence):
        with pytest.raises(Unavailable) as caught:
            call("Yeats", 1)
        assert caught.value.code == "unsafe_file"
        assert caught.value.remedy


# The clock


@pytest.mark.promise(8)
def test_the_clock_of_leases_does_not_follow_the_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before, gettime = clock.monotonic(), time.clock_gettime
    jumped = time.time() + 86400.0
    monkeypatch.setattr(time, "time", lambda: jumped)
    monkeypatch.setattr(time, "clock_gettime", lambda which: jumped if which == time.CLOCK_REALTIME else gettime(which))
    assert clock.wall_seconds() == jumped
    assert before <= clock.monotonic() < before + 3600


def test_wall_time_is_utc_with_milliseconds() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    said = Clock().wall()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said)
    assert before <= datetime.fromisoformat(said) <= datetime.now(UTC)


def test_wall_time_follows_the_clocks_seconds() -> None:
    assert SteppedClock(wall=0).wall() == "1970-01-01T00:00:00.000Z"
    assert SteppedClock(wall=1_900_000_000.0625).wall() == "2030-03-17T17:46:40.062Z"


def test_monotonic_time_never_goes_back() -> None:
    clock = Clock()
    seen = [clock.monotonic() for _ in range(1000)]
    assert seen == sorted(seen)


def test_a_boot_has_one_name_that_is_a_file_name() -> None:
    assert Clock().boot_id() == Clock().boot_id()
    assert re.fullmatch(r"[0-9a-f-]+|unknown", Clock().boot_id())


def test_tokens_are_words_of_the_length_asked_for() -> None:
    words = {Clock().token(10) for _ in range(1000)}
    assert len(words) == 1000
    assert all(re.fullmatch(r"[0-9a-hjkmnp-tv-z]{10}", word) for word in words)


def test_commit_ids_sort_by_time() -> None:
    clock = SteppedClock()
    ids = []
    for _ in range(200):
        ids.append(clock.commit_id())
        clock.step(0.002)
    assert ids == sorted(ids)
    assert all(re.fullmatch(r"[0-7][0-9a-hjkmnp-tv-z]{25}", one) for one in ids)
    assert len({clock.commit_id() for _ in range(1000)}) == 1000
