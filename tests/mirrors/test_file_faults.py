"""Writers that die at any instant, agents that write at any instant, readers that never stop looking.

The processes of a test are started by a script, this file itself, that has one thread and may fork. An agent here
knows nothing but the path. What it has completely written must be in the file, must have been given to some process
that noted it, or must be found by the next one. Agents take turns among themselves, so that none of them can destroy
what another wrote: whatever is missing, the mirror has lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import pytest

from moot.api.protocol import strict_json
from moot.mirrors import exchange, file_reading, files, lock
from moot.mirrors.file_reading import Changed, Missing, Signature
from moot.mirrors.files import Displaced, MirrorFile, Written

RELATIVE = "box/mail.json"
TRACED = {files.__file__, exchange.__file__, file_reading.__file__}


class World:
    """A worktree with one mirror, and a note of everything that was absorbed."""

    def __init__(self, place: str) -> None:
        self.root, self.keep = os.path.join(place, "tree"), os.path.join(place, "keep")
        self.path = os.path.join(self.root, RELATIVE)
        self.lock, self.noted, self.agents = (os.path.join(place, name) for name in ("lock", "noted", "agents"))
        for home in (self.keep, os.path.dirname(self.path)):
            os.makedirs(home, exist_ok=True)

    def mirror(self) -> MirrorFile:
        return MirrorFile(self.root, RELATIVE, self.keep)

    def note(self, data: bytes) -> None:
        append(self.noted, data.hex())

    def notes(self) -> list[bytes]:
        return [bytes.fromhex(line) for line in lines(self.noted)]


def append(path: str, line: str) -> None:
    """A kill may cut a write short, so that a line counts only with its end, and begins on a line of its own."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, f"\n{line}.\n".encode())
    os.close(fd)


def lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return [line[:-1] for line in file.read().splitlines() if line.endswith(".")]
    except FileNotFoundError:
        return []


def fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(70)
    return pid


def without_native_exchange() -> None:
    exchange._rename_with = lambda _linux, _macos: None


# ---------------------------------------------------------------- every line of a write, with an agent at every line

BASE, RENDER, AGENT = b'{"messages": []}\n', b'{"messages": ["moot"]}\n', b'{"messages": ["the agent was here"]}\n'
UNREADABLE = b"unreadable"


class Agent:
    """Acts once, at a given line of `write`; some actions end only after the writer is dead and buried."""

    def __init__(self, world: World, action: str) -> None:
        self.world, self.action, self.fd, self.acted, self.wrote = world, action, -1, False, False
        if action == "opened before" and os.path.exists(world.path):
            self.fd = os.open(world.path, os.O_RDWR)

    def act(self) -> None:
        path, self.acted = self.world.path, True
        if self.action == "in place":
            with open(path, "wb") as file:
                file.write(AGENT)
            self.wrote = True
        elif self.action == "by renaming":
            with open(path + ".tmp", "wb") as file:
                file.write(AGENT)
            os.replace(path + ".tmp", path)
            self.wrote = True
        elif self.action == "asks for graves without a turn":
            self.world.mirror().graves()
        elif self.action == "removes":
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        elif self.action == "makes a directory":
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            os.mkdir(path)
            with open(os.path.join(path, "inside"), "wb") as file:
                file.write(AGENT)
        elif self.action in {"tears and ends late", "writes the same and ends late"}:
            self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.write(self.fd, AGENT[:9] if self.action == "tears and ends late" else RENDER)
        elif self.action == "opened before" and self.fd >= 0:
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, AGENT, 0)
            self.wrote = True

    def end(self) -> None:
        if self.fd >= 0:
            if not self.wrote:
                os.ftruncate(self.fd, 0)
                os.pwrite(self.fd, AGENT, 0)
                self.wrote = True
            os.close(self.fd)


ACTIONS = (
    "in place",
    "by renaming",
    "removes",
    "asks for graves without a turn",
    "makes a directory",
    "tears and ends late",
    "writes the same and ends late",
    "opened before",
)


class Step:
    """Counts the lines that run in the traced modules, and does something at some of them."""

    def __init__(self, events: dict[int, Callable[[], None]]) -> None:
        self.line, self.events = 0, events

    def __enter__(self) -> None:
        sys.settrace(self._trace)

    def __exit__(self, *_error: object) -> None:
        sys.settrace(None)

    def _trace(self, frame, event, _argument):
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line":
            self.line += 1
            if self.line in self.events:
                self.events[self.line]()
        return self._trace


def rewrite(world: World, seen: Signature | None, step: Step) -> None:
    """One turn of moot that has already looked: write, note what came out, say so."""
    mirror = world.mirror()
    with step:
        written = mirror.write(RENDER, seen)
    for found in written.displaced if isinstance(written, Written) else ():
        world.note(found.data)
        with step:
            mirror.absorbed(found)


def recover(world: World) -> None:
    mirror = world.mirror()
    for found in mirror.graves():
        world.note(UNREADABLE if found.unreadable else found.data)
        mirror.absorbed(found)
    look = mirror.look(None)
    if isinstance(look, Changed):
        world.note(look.data)


def prepared(place: str, exists: bool) -> tuple[World, Signature | None]:
    world = World(place)
    if not exists:
        return world, None
    written = world.mirror().write(BASE, None)
    assert isinstance(written, Written)
    return world, written.signature


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def recover_and_die(world: World, line: int) -> None:
    with Step({line: die}):
        recover(world)


def one_case(exists: bool, action: str, at: int, dies: int | None, dies_too: int) -> list[str]:
    """Everything that is wrong after an agent acted at line `at` of a write that died at line `dies`.

    Whoever came to clear up died at line `dies_too`.
    """
    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        world, seen = prepared(place, exists)
        agent = Agent(world, action)
        if dies is None:
            rewrite(world, seen, Step({at: agent.act}))
            if action == "asks for graves without a turn" and not freshly_rendered(world.path):
                return ["somebody who only asked disturbed the writer"]
        else:
            # The agent acts in the parent while the writer stands still at that line.
            reads, acts = os.pipe(), os.pipe()

            def wait() -> None:
                os.write(acts[1], b".")
                os.read(reads[0], 1)

            events = {at: wait, dies: die} if at != dies else {at: lambda: (wait(), die())}
            pid = fork(lambda: rewrite(world, seen, Step(events)))
            os.close(acts[1])
            if os.read(acts[0], 1):
                agent.act()
                os.write(reads[1], b".")
            os.waitpid(pid, 0)
            for fd in (*reads, acts[0]):
                os.close(fd)
            os.waitpid(fork(lambda: recover_and_die(world, dies_too)), 0)
        return aftermath(world, agent)


def freshly_rendered(path: str) -> bool:
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        return file.read() == RENDER and abs(os.fstat(file.fileno()).st_mtime - time.time()) < 3600
    return False


def aftermath(world: World, agent: Agent) -> list[str]:
    wrong = []
    recover(world)
    agent.end()
    recover(world)
    if agent.wrote and AGENT not in world.notes():
        wrong.append("what the agent wrote is lost")
    if agent.action == "makes a directory" and agent.acted:
        inside = [
            os.path.join(at, "inside") for at, _, names in os.walk(os.path.dirname(world.root)) if "inside" in names
        ]
        if not inside or (UNREADABLE not in world.notes() and os.path.dirname(inside[0]) != world.path):
            wrong.append("the directory is lost")
        return wrong
    strangers = set(world.notes()) - {BASE, RENDER, AGENT, AGENT[:9], b""}
    if strangers:
        wrong.append(f"nobody wrote {strangers}")
    late = time.monotonic() + 2 * files.LINGER
    found = world.mirror().graves(late)
    left = [name for home in (world.keep, os.path.dirname(world.path)) for name in os.listdir(home)]
    if found or left not in ([], ["mail.json"]):
        wrong.append("something is left behind")
    return wrong


def scratch() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def lines_of_a_write(exists: bool) -> int:
    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        world, seen = prepared(place, exists)
        step = Step({})
        rewrite(world, seen, step)
        return step.line


def every_line(native: str, seed: str, share: str) -> dict[str, object]:
    """An agent at every line of a write that ends well, and in this share of all the ways to die."""
    chance = random.Random(seed)
    if native != "native":
        without_native_exchange()
    wrong: dict[str, list[str]] = {}
    cases = 0
    for exists in (True, False):
        last = lines_of_a_write(exists) + 8  # a longer way, if the agent makes it longer
        # An agent who renames between link and rename is the known limit of the fallback.
        for action in [one for one in ACTIONS if native == "native" or one != "by renaming"]:
            plan: list[tuple[int, int | None]] = [(at, None) for at in range(1, last)]
            deaths = [(at, dies) for dies in range(1, last) for at in range(1, dies + 1)]
            plan += chance.sample(deaths, int(len(deaths) * float(share)))
            for at, dies in plan:
                cases += 1
                dies_too = chance.randint(1, last)
                for fault in one_case(exists, action, at, dies, dies_too):
                    wrong.setdefault(fault, []).append(f"{exists=} {action=} {at=} {dies=} {dies_too=}")
    return {"cases": cases, "wrong": {fault: where[:10] for fault, where in wrong.items()}}


# ---------------------------------------------------------------- real agents, real kills


def agent(world: World, name: str, may_rename: bool, seed: int) -> None:
    """Spec 0's three steps, for ever: read the file, append, write it back."""
    chance = random.Random(seed)
    number = 0
    with open(world.agents, "a") as turns:
        while True:
            fcntl.flock(turns, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError, strict_json.TornJson):
                with open(world.path, "rb") as file:
                    box = strict_json.load(file.read())
                number += 1
                entry = f"{name}-{number}"
                box["messages"].append(entry)
                write_as_agents_do(world.path, strict_json.dump(box), chance, may_rename)
                append(world.agents, entry)
            fcntl.flock(turns, fcntl.LOCK_UN)
            time.sleep(chance.random() * 0.01)


def write_as_agents_do(path: str, data: bytes, chance: random.Random, may_rename: bool) -> None:
    rename = may_rename and chance.random() < 0.4
    with open(path + ".tmp" if rename else path, "wb", buffering=0) as file:
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            if chance.random() < 0.5:
                time.sleep(chance.random() * 0.003)
            file.write(part)
    if rename:
        os.replace(path + ".tmp", path)


def moot(world: World, seed: int) -> None:
    """Turns of moot, for ever: absorb, render, write. The file of notes is its log."""
    chance = random.Random(seed)
    mirror, known = world.mirror(), None
    while True:
        with lock.MirrorLock(os.path.dirname(world.lock), world.lock, 10, lambda: False) as got:
            assert got == "ours"
            known = moot_turn(world, mirror, known, chance)


def moot_turn(world: World, mirror: MirrorFile, known: Signature | None, chance: random.Random) -> Signature | None:
    absorb_found(world, mirror, mirror.graves())
    look = mirror.look(known)
    if isinstance(look, Changed):
        if not entries(look.data):
            return known  # torn: its writer is at it
        world.note(look.data)
    if chance.random() < 0.5:
        time.sleep(chance.random() * 0.002)
    seen = None if isinstance(look, Missing) else look.signature
    messages = sorted({entry for data in world.notes() for entry in entries(data) or ()})
    written = mirror.write(strict_json.dump({"messages": messages[-200:], "turn": chance.random()}), seen)
    assert isinstance(written, Written), written
    absorb_found(world, mirror, written.displaced)
    return written.signature


def absorb_found(world: World, mirror: MirrorFile, found: list[Displaced] | tuple[Displaced, ...]) -> None:
    for one in found:
        if entries(one.data) is not None:
            world.note(one.data)
            mirror.absorbed(one)


def entries(data: bytes) -> list[str] | None:
    try:
        return strict_json.load(data)["messages"]
    except strict_json.TornJson:
        return None


def kills(native: str, seed: str, rounds: str) -> dict[str, object]:
    if native != "native":
        without_native_exchange()
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        world = World(place)
        world.mirror().write(b'{"messages": []}\n', None)
        agents = [
            fork(lambda n=n: agent(world, f"agent{n}", native == "native", chance.randrange(10**9) + n))
            for n in range(2)
        ]
        try:
            for number in range(int(rounds)):
                writer = fork(lambda number=number: moot(world, hash((seed, number))))
                time.sleep(0.02 + chance.random() * 0.1)
                end(writer)
        finally:
            with open(world.agents, "a") as turns:  # no agent is in the middle of a write
                fcntl.flock(turns, fcntl.LOCK_EX)
                for pid in agents:
                    end(pid)
        return account(world)


def account(world: World) -> dict[str, object]:
    mirror = world.mirror()
    left = [found.data for found in mirror.graves()]
    look = mirror.look(None)
    last = [look.data] if isinstance(look, Changed) else []
    safe = {entry for data in [*world.notes(), *left, *last] for entry in entries(data) or ()}
    said = lines(world.agents)
    return {"written": len(said), "lost": [entry for entry in said if entry not in safe][:10], "left": len(left)}


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"a process of the test failed by itself: {status}"


# ---------------------------------------------------------------- readers


def polls(native: str, writes: str) -> dict[str, object]:
    if native != "native":
        without_native_exchange()
    with tempfile.TemporaryDirectory() as place:
        world = World(place)
        world.mirror().write(strict_json.dump({"messages": []}), None)
        writers = [fork(lambda n=n: write_many(world, n, int(writes))) for n in range(2)]
        faults: list[str] = []
        reads = 0
        sizes = set()
        while writers:
            reads += 1
            try:
                with open(world.path, "rb") as file:
                    data = file.read()
                strict_json.load(data)
                sizes.add(len(data))
            except (OSError, strict_json.TornJson) as error:
                faults.append(repr(error))
            if reads % 20 == 0:
                world.mirror().graves()  # without a turn: it must not disturb
            if reads % 50 == 0:
                writers = [pid for pid in writers if not ended(pid)]
        return {"reads": reads, "different": len(sizes), "faults": faults[:10]}


def ended(pid: int) -> bool:
    done, status = os.waitpid(pid, os.WNOHANG)
    assert status == 0
    return done == pid


def write_many(world: World, name: int, writes: int) -> None:
    mirror = world.mirror()
    for number in range(writes):
        with lock.MirrorLock(os.path.dirname(world.lock), world.lock, 10, lambda: False) as got:
            assert got == "ours"
            mirror.graves()
            look = mirror.look(None)
            assert isinstance(look, Changed)
            text = f"{name}-{number}-" * (number % 700 + 1)
            written = mirror.write(strict_json.dump({"messages": [text]}), look.signature)
            assert isinstance(written, Written)
            assert not written.displaced


# ---------------------------------------------------------------- the tests


def in_own_process(*role: str, seconds: float = 110) -> dict:
    command, paths = [sys.executable, __file__, *role], os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": paths}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr[-3000:]
    return json.loads(answer.stdout)


NATIVE = pytest.mark.parametrize("native", ["native", "link and rename"])


@NATIVE
@pytest.mark.promise(14)
@pytest.mark.proves("S0-HRD-02")
def test_a_reader_that_never_stops_looking_never_sees_anything_but_a_whole_file(native):
    seen = in_own_process("polls", native, "600")
    assert seen["faults"] == []
    assert seen["reads"] > 2000
    assert seen["different"] > 100


@NATIVE
@pytest.mark.promise(14)
def test_whatever_line_a_writer_dies_at_and_an_agent_writes_at_nothing_is_lost_or_left_behind(native):
    result = in_own_process("every_line", native, "a seed", "0.005")
    assert result["wrong"] == {}
    assert result["cases"] > 1000


@NATIVE
@pytest.mark.soak
@pytest.mark.promise(14)
def test_a_twentieth_of_all_ways_to_die_loses_nothing(native):
    result = in_own_process("every_line", native, str(time.time()), "0.05", seconds=1700)
    assert result["wrong"] == {}


@NATIVE
@pytest.mark.promise(14)
def test_no_agents_entry_is_lost_when_the_writer_is_killed_a_hundred_times(native):
    result = in_own_process("kills", native, "another seed", "120")
    assert result["lost"] == []
    assert result["written"] > 100


@NATIVE
@pytest.mark.soak
@pytest.mark.promise(14)
def test_no_agents_entry_is_lost_when_the_writer_is_killed_a_thousand_times(native):
    result = in_own_process("kills", native, str(time.time()), "1000", seconds=600)
    assert result["lost"] == []


if __name__ == "__main__":
    roles: dict[str, Callable[..., dict[str, object]]] = {"polls": polls, "every_line": every_line, "kills": kills}
    print(json.dumps(roles[sys.argv[1]](*sys.argv[2:])))
