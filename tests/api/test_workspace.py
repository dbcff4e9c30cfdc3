"""One workspace object, many calls: handles are borrowed and given back, and no call sees anything of another."""

from __future__ import annotations

import gc
import os
import subprocess
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moot.core.errors import Held, MootError, Refused, Unavailable, Unknown, Usage
from moot.core.identity import Caller
from moot.wiring import open_workspace
from moot.wiring.admin import Admin
from tests.person import AS_A_PERSON, ME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moot.api.answer import Answer
    from moot.api.workspace import Workspace

PERSON = Caller(person=True, why="MOOT_PERSON")
PATIENCE = 120.0  # seconds; a loaded machine is slow, a broken wait ends
HANDLES = 6
THREADS = 32


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=60)
    Admin(str(root), AS_A_PERSON).create(())
    return root


@pytest.fixture
def workspace(repo: Path) -> Iterator[Workspace]:
    with open_workspace(str(repo), AS_A_PERSON, handles=HANDLES) as opened:
        yield opened


def ask(workspace: Workspace, caller: Caller, verb: str, **given: Any) -> Answer:
    """One call, with what a surface does once its answer was shown."""
    with workspace.call(caller) as call:
        answer = call.run(verb, given)
        if answer.after is not None:
            answer.after()
        return answer


def join(workspace: Workspace, name: str) -> Caller:
    with workspace.call(PERSON) as call:
        call.run("join", {"name": name})
        return call.caller


def together(acts: list[Callable[[], None]]) -> None:
    """Run these at once, each in a thread, and raise what went wrong first."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], None]) -> None:
        try:
            start.wait(PATIENCE)
            act()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(act,), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not [thread for thread in threads if thread.is_alive()]
    if failures:
        raise failures[0]


def open_files(workspace: Workspace) -> Counter[str]:
    """The files of the workspace that this process has open, and how often."""
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # closed meanwhile
        if path.startswith(workspace.place.state):
            found[os.path.basename(path)] += 1
    return found


# Handles


def test_an_idle_handle_is_used_again_and_a_busy_one_by_nobody_else(workspace: Workspace) -> None:
    with workspace.call(PERSON) as one:
        first = one.engine
        with workspace.call(PERSON) as two:
            assert two.engine is not first
            assert (two.engine.log, two.engine.store) != (first.log, first.store)
    with workspace.call(PERSON) as three, workspace.call(PERSON) as four:
        assert {id(three.engine), id(four.engine)} == {id(first), id(two.engine)}


def test_the_locks_of_two_calls_exclude_each_other(workspace: Workspace) -> None:
    with workspace.call(PERSON) as one, workspace.call(PERSON) as two, one.engine.log.exclusive():
        two.engine.log.handle.patience = 0.01
        with pytest.raises(Unavailable, match="lock") as caught, two.engine.log.exclusive():
            pass
    assert caught.value.code == "locked"


@pytest.mark.parametrize(
    ("error", "thrown_away"),
    [
        (KeyboardInterrupt, True),
        (ZeroDivisionError, True),
        (lambda: Refused("no", "No.", "Do something else."), False),
        (lambda: Unavailable("locked", "Locked.", "Try again."), False),
    ],
    ids=["interrupted", "a mistake", "refused", "not now"],
)
def test_a_handle_is_thrown_away_only_if_it_may_be_broken(
    workspace: Workspace, error: Callable[[], BaseException], thrown_away: bool
) -> None:
    failure = error()
    call = workspace.call(PERSON)
    engine = call.engine
    with pytest.raises(type(failure)), call:
        raise failure
    with workspace.call(PERSON) as another:
        assert (another.engine is not engine) is thrown_away
        another.run("task add", {"title": "One"})
    assert open_files(workspace)["log.db"] == 1


def test_a_call_that_is_dropped_gives_its_handle_back(workspace: Workspace) -> None:
    calls = [workspace.call(PERSON) for _ in range(HANDLES)]
    engines = {id(call.engine) for call in calls}
    del calls
    gc.collect()
    with ExitStack() as stack:
        assert {id(stack.enter_context(workspace.call(PERSON)).engine) for _ in range(HANDLES)} == engines


@pytest.mark.parametrize("broken", [False, True])
def test_a_call_that_waits_goes_on_when_another_ends_or_breaks(repo: Path, broken: bool) -> None:
    with open_workspace(str(repo), AS_A_PERSON, handles=1) as narrow:
        held, done = narrow.call(PERSON), []

        def wait() -> None:
            done.append(ask(narrow, PERSON, "whoami").result)

        waiting = [threading.Thread(target=wait) for _ in range(5)]
        for thread in waiting:
            thread.start()
        while len(narrow.pool._waiting) < len(waiting):
            waiting[0].join(0.001)
        held.close(broken=broken)
        for thread in waiting:
            thread.join(PATIENCE)
        assert len(done) == 5


def test_an_open_call_outlives_its_workspace_and_no_new_one_begins(repo: Path) -> None:
    workspace = open_workspace(str(repo), AS_A_PERSON)
    with workspace.call(PERSON) as call:
        workspace.close()
        call.run("task add", {"title": "One"})
        with pytest.raises(Usage) as caught:
            workspace.call(PERSON)
        assert caught.value.code == "workspace_closed"
    assert not open_files(workspace)


def test_whoever_waits_while_the_workspace_is_closed_is_told(repo: Path) -> None:
    workspace = open_workspace(str(repo), AS_A_PERSON, handles=1)
    held, said = workspace.call(PERSON), []

    def wait() -> None:
        try:
            workspace.call(PERSON)
        except Usage as error:
            said.append(error.code)

    thread = threading.Thread(target=wait)
    thread.start()
    while not workspace.pool._waiting and thread.is_alive():
        thread.join(0.001)
    workspace.close()
    thread.join(PATIENCE)
    held.close()
    assert said == ["workspace_closed"]


# Callers


def test_a_call_that_joins_changes_no_other_call(workspace: Workspace) -> None:
    with workspace.call(PERSON) as before:
        join(workspace, "Ada")
        assert before.run("whoami", {}).result.kind == "person"
        with workspace.call(PERSON) as after:
            assert after.run("task add", {"title": "One"}).result.creator == ME


# Settings


def test_settings_are_swapped_whole_and_an_open_call_keeps_its_own(workspace: Workspace, repo: Path) -> None:
    """Each call sees one pair of values that belong together, whenever they are swapped."""
    old = workspace.setup
    setups = [
        old.replace(settings=old.settings.replace(task_ttl=float(n), claim_ttl=float(n))) for n in range(100, 140)
    ]
    ended, seen = threading.Event(), Counter[float]()

    def look() -> None:
        while not ended.is_set():
            with workspace.call(PERSON) as call:
                first = (call.settings.task_ttl, call.settings.claim_ttl)
                call.run("board", {})
                assert first == (call.settings.task_ttl, call.settings.claim_ttl)
                assert first[0] == first[1]
                seen[first[0]] += 1

    def swap() -> None:
        try:
            for setup in setups:
                workspace.setup = setup
                wanted = setup.settings.task_ttl
                while not seen[wanted] and not failed:
                    ask(workspace, PERSON, "whoami")
        finally:
            ended.set()

    failed: list[BaseException] = []
    together([*[_noting(look, failed) for _ in range(4)], swap])
    assert not failed
    assert all(seen[setup.settings.task_ttl] for setup in setups)
    with workspace.call(PERSON) as open_before:
        (repo / "moot.toml").write_text("[tasks]\nttl = '7m'\n")
        workspace.reload()
        assert open_before.settings.task_ttl == setups[-1].settings.task_ttl
    assert ask(workspace, PERSON, "task add", title="One").result.ttl == 420.0


def _noting(act: Callable[[], None], failed: list[BaseException]) -> Callable[[], None]:
    def noting() -> None:
        try:
            act()
        except BaseException as error:
            failed.append(error)

    return noting


def test_a_call_uses_the_settings_that_changed_before_it(workspace: Workspace, repo: Path) -> None:
    with workspace.call(PERSON) as call:
        (repo / "moot.toml").write_text("[tasks]\nreceipt = true\nttl = '5m'\n")
        call.run("task add", {"title": "One"})
        assert call.settings.task_ttl == 1800.0
    with workspace.call(PERSON) as after:
        after.run("task add", {"title": "Two"})
        assert (after.settings.task_receipt, after.settings.task_ttl) == (True, 300.0)
        assert len(after.run("log", {"type": "settings:changed"}).result) == 1


# Threads


class Crew:
    """32 agents in one workspace object, each in a thread of its own."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.callers = [join(workspace, f"Agent{number:02}") for number in range(THREADS)]
        self.guard = threading.Lock()
        self.inside = 0  # holders of the one file that all want
        self.granted = 0
        self.taken: list[tuple[str, str]] = []

    def work(self, number: int) -> None:
        me, name = self.callers[number], f"Agent{number:02}"
        to = f"Agent{(number + 1) % THREADS:02}"
        sent = self._ask(me, "send", to=[to], text=f"word{number:02}", key="same name for all")
        again = self._ask(me, "send", to=[to], text=f"word{number:02}", key="same name for all")
        assert (again.result.id, again.result.repeated) == (sent.result.id, True)
        said = self._ask(me, "decide", title="So be it.", affects=[f"nothing-{number:02}"])
        unknown = [one.message for one in said.warnings if one.code == "affects_unknown"]
        assert [f"nothing-{number:02}" in message for message in unknown] == [True]
        claim = self._ask(me, "claim", paths=[f"own-{number:02}.py"]).result
        self._contend(me)
        task = self._ask(me, "task claim").result
        assert task.holder == f"{name}#1"
        self.taken.append((task.id, name))
        self._ask(me, "task submit", task=task.id)
        found = self._ask(me, "search", words=[f"word{number:02}"]).result
        assert [thing.id for thing in found] == [sent.result.id]
        assert self._ask(me, "log", limit=5).result
        self._look_back(me, sent.result.position)
        new = [letter for letter in self._ask(me, "inbox").result.new if letter.task is None]  # not about a review
        assert [letter.text for letter in new] in (
            [],
            [f"word{(number - 1) % THREADS:02}"],
        )
        self._ask(me, "release", what=[claim.id])

    def _ask(self, caller: Caller, verb: str, **given: Any) -> Answer:
        return ask(self.workspace, caller, verb, **given)

    def _contend(self, me: Caller) -> None:
        try:
            claim = self._ask(me, "claim", paths=["shared.py"]).result
        except Held:
            return
        with self.guard:
            self.inside += 1
            self.granted += 1
            assert self.inside == 1, "two hold the same file"
        with self.guard:
            self.inside -= 1
        self._ask(me, "release", what=[claim.id])

    def _look_back(self, me: Caller, position: int) -> None:
        place = self.workspace.place.root
        with open_workspace(place, AS_A_PERSON, at=position - 1) as past:
            with past.call(me) as call, pytest.raises(Unknown):
                call.run("thread", {"id": self._sent(position)})
            with past.call(me) as call:
                assert call.run("log", {"limit": 1}).result[0].position == position - 1

    def _sent(self, position: int) -> str:
        with self.workspace.call(PERSON) as call:
            return call.engine.log.read(position - 1, 1)[0].stream.partition("/")[2]


@pytest.mark.timeout(300)
@pytest.mark.promise(2)
@pytest.mark.promise(6)
@pytest.mark.promise(7)
@pytest.mark.parametrize("packs", [(), ("orchestrator",)], ids=["plain", "with mirrors"])
def test_32_threads_on_one_workspace_lose_nothing_and_mix_nothing(tmp_path: Path, packs: tuple[str, ...]) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    Admin(str(tmp_path), AS_A_PERSON).create(packs)
    before = threading.active_count()
    with open_workspace(str(tmp_path), AS_A_PERSON, handles=HANDLES) as workspace:
        for number in range(THREADS):
            ask(workspace, PERSON, "task add", title=f"Task {number}", lifecycle="core")
        crew = Crew(workspace)
        together([lambda n=number: crew.work(n) for number in range(THREADS)])
        assert crew.granted >= 1
        assert len({task for task, _ in crew.taken}) == THREADS, "every task was taken once"
        with workspace.call(PERSON) as call:
            events = call.engine.log.read(0, 10_000)
        assert [event.position for event in events] == list(range(1, len(events) + 1))
        sent = [event for event in events if event.type == "message:sent"]
        about = Counter(e.by for e in sent if "task" in e.data)
        assert about == Counter({f"Agent{n:02}#1": 1 for n in range(THREADS)}), "each submission was mailed once"
        assert Counter((e.by, e.data["text"]) for e in sent if "task" not in e.data) == Counter(
            {(f"Agent{n:02}#1", f"word{n:02}"): 1 for n in range(THREADS)}
        )
        held = {f"own-{n:02}.py" for n in range(THREADS)}
        claims = [e for e in events if e.type == "file:claimed" and set(e.data["paths"]) & held]
        assert sorted((e.by, *e.data["paths"]) for e in claims) == [
            (f"Agent{n:02}#1", f"own-{n:02}.py") for n in range(THREADS)
        ]
        assert ask(workspace, PERSON, "claims").result == []
        for number, caller in enumerate(crew.callers):
            letters = ask(workspace, caller, "inbox", all=True).result
            texts = {letter.text for letter in (*letters.new, *letters.waiting) if letter.task is None}
            assert texts <= {f"word{(number - 1) % THREADS:02}"}
        ask(workspace, PERSON, "verify")
    assert not open_files(workspace)
    assert threading.active_count() == before


def test_many_threads_open_no_more_files_than_the_handles_need(workspace: Workspace) -> None:
    with workspace.call(PERSON) as call:
        call.run("task add", {"title": "The first"})
        one = open_files(workspace)

    def work() -> None:
        for _ in range(3):
            ask(workspace, PERSON, "task add", title="Another one")
            ask(workspace, PERSON, "board")

    together([work] * THREADS)
    many = open_files(workspace)
    assert many.keys() == one.keys()
    assert 1 < many["log.db"] <= HANDLES
    assert all(many[name] <= HANDLES * one[name] for name in one)
    assert ask(workspace, PERSON, "board").result["counts"] == {"open": 1 + 3 * THREADS}


# Forks


@pytest.mark.timeout(60)
def test_a_forked_child_is_refused_and_told_to_open_the_workspace_again(workspace: Workspace) -> None:
    with workspace.call(PERSON) as mine:
        mine.run("task add", {"title": "before"})
        assert _in_a_child(lambda: mine.run("board", {})) == 0
        assert _in_a_child(lambda: workspace.call(PERSON)) == 0
        mine.run("task add", {"title": "after"})
    assert len(ask(workspace, PERSON, "board", all=True).result["tasks"]) == 2


def _in_a_child(use: Callable[[], object]) -> int:
    """0 if it was refused there."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            use()
        except MootError as error:
            status = 0 if error.code == "forked" else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
