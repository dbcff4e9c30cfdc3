"""Custom events, and what is done because of events: as people and agents use them."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moot import Workspace
from moot.api.protocol import MessageType, Pack, Packs, Protocol, Saying
from moot.core.deciders.effect import DEEPEST
from moot.core.deciders.message import SendMessage
from moot.core.errors import Refused, Unknown, Usage
from moot.place.locks import anybody_runs
from tests.faults.crew import alive
from tests.surfaces.command import PATIENCE, Command

COUNT = 'name = "count"\non = ["build:*"]\nrun = ["sh", "-c", "cat >> got; echo >> got"]'
FAIL = 'name = "fail"\non = ["build:*"]\nrun = ["sh", "-c", "echo broken; exit 3"]\nattempts = 1'
TELL = 'name = "tell"\non = ["task:added"]\nmessage = { to = "Bob", text = "{data.title} is new, see {stream}" }'


def handlers(run: Command, *tables: str, allow: bool = True) -> None:
    (run.repo / "moot.toml").write_text("".join(f"[[handlers]]\n{table}\n\n" for table in tables))
    if allow:
        assert run("allow", "--all", "--yes", MOOT_PERSON="1").code == 0


def got(run: Command) -> list[dict[str, Any]]:
    path = run.repo / "got"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# Custom events


def test_a_free_event_is_waited_for_followed_and_explained(run: Command) -> None:
    said = run("emit", "build:finished", "--data", '{"ok": true}', "--json", agent="Ada").result
    assert (said["type"], said["stream"], said["repeated"]) == ("build:finished", "topic/build", False)
    came = run("wait", "--type", "build:finished", "--after", "0", "--timeout", "30", "--json").result
    assert came["events"][0]["data"] == {"ok": True}
    assert "build:finished topic/build by Ada" in run("log", "--stream", "topic/*").out
    assert "build:finished" in run("explain", "topic/build").out
    assert run("verify").code == 0
    assert run("send", "Bob", "The log is not newer than this program.", agent="Ada").code == 0


def test_a_stream_a_thread_and_a_key_can_be_given(ada: Workspace) -> None:
    letter = ada.send("Bob", "About the build.")
    first = ada.emit("build:finished", stream="nightly", thread=letter.id, data={"n": 1}, key="k")
    again = ada.emit("build:finished", stream="topic/nightly", thread=letter.id, data={"n": 2})
    assert (first.stream, first.thread) == (again.stream, letter.id) == ("topic/nightly", letter.id)
    repeat = ada.emit("build:finished", stream="nightly", thread=letter.id, data={"n": 1}, key="k")
    assert (repeat.position, repeat.repeated) == (first.position, True)


@pytest.mark.parametrize(
    ("kind", "maker"),
    [
        ("task:completed", "moot task"),
        ("task:invented", "moot task"),
        ("message:sent", "moot send"),
        ("file:claimed", "moot claim"),
        ("effect:done", "moot handle"),
        ("agent:joined", "moot join"),
        ("mailbox:cleared", "moot inbox"),
        ("topic:made", "moot emit"),
        ("pack:activated", "moot.toml"),
        ("document:changed", "file of a pack"),
    ],
)
def test_an_event_of_the_core_cannot_be_forged(ada: Workspace, kind: str, maker: str) -> None:
    with pytest.raises(Refused) as caught:
        ada.emit(kind)
    assert caught.value.code == "event_owned"
    assert maker in caught.value.remedy


@pytest.mark.parametrize("kind", ["pack:built", "document:printed"])
def test_the_noun_of_a_later_kind_stays_free(run: Command, kind: str) -> None:
    """It can be emitted, waited for and handled, as before there was such a kind."""
    handlers(run, f'name = "tell"\non = ["{kind}"]\nmessage = {{ to = "Bob", text = "{{data.which}} came" }}')
    said = run("emit", kind, "--data", '{"which": "Mine"}', "--json", agent="Ada").result
    assert (said["type"], said["stream"], said["caused"]) == (kind, f"topic/{kind.partition(':')[0]}", 1)
    assert run("wait", "--type", kind, "--after", "0", "--timeout", "30").code == 0
    assert run("handle", "--drain", MOOT_PERSON="1").code == 0
    assert "Mine came" in run("inbox", agent="Bob").out
    assert run("verify").code == 0


def test_bad_events_are_refused_with_a_remedy(ada: Workspace) -> None:
    with pytest.raises(Usage, match="not a valid event type"):
        ada.emit("Build finished")
    with pytest.raises(Usage, match="JSON object"):
        ada.emit("build:finished", data=[1])
    with pytest.raises(Refused, match="the limit is"):
        ada.emit("build:finished", data={"text": "x" * (1 << 20)})
    with pytest.raises(Unknown, match="no message"):
        ada.emit("build:finished", thread="m-nothing")


class Builds(Protocol):
    """A pack that has made `build:broken` a command of its own: it tells everybody."""

    def hear(self, work, saying: Saying) -> None:
        if "by" not in saying.data:
            raise Refused("no_culprit", "Nobody is named.", "Give --data '{\"by\": …}'.")
        text = f"{saying.data['by']} broke it"
        command = SendMessage(
            kind="note", sender=saying.sender.principal, to=("Bob",), wants="nothing", size=1, limit=9, text=text
        )
        work.do("message", "m-broken", command, thread=saying.thread)


def test_a_type_that_a_pack_binds_becomes_that_packs_command(ada: Workspace, bob: Workspace) -> None:
    broken = MessageType(name="build:broken", pack="builds", how="event")
    pack = Pack(name="builds", title="Builds", events=(broken,))
    ada._workspace.setup = ada._workspace.setup.replace(packs=Packs([pack], lambda _: Builds(pack)))
    with pytest.raises(Refused, match="Nobody is named"):
        ada.emit("build:broken")
    with pytest.raises(Usage, match="chooses the stream"):
        ada.emit("build:broken", stream="x")
    said = ada.emit("build:broken", data={"by": "Yeats"})
    assert (said.type, said.stream) == ("message:sent", "message/m-broken")
    assert [letter.text for letter in bob.inbox().new] == ["Yeats broke it"]
    assert ada.emit("build:finished").stream == "topic/build"


# Handling


def test_an_effect_is_requested_with_its_cause_and_performed(run: Command) -> None:
    handlers(run, COUNT)
    ran = run("emit", "build:finished", "--data", '{"ok": true}')
    assert "1 effect requested" in ran.out
    assert "no runner performs effects here. Start one: `moot handle`. [nobody_handles]" in ran.err
    one, two = run("log", "--limit", "2", "--json").result
    assert (one["type"], two["type"], one["commit"]) == ("build:finished", "effect:requested", two["commit"])
    assert run("handle", "--drain").out == "1 done.\n"
    (event,) = got(run)
    assert (event["type"], event["data"], event["id"]) == ("build:finished", {"ok": True}, f"{one['commit']}.0")
    assert run("handle", "--drain").out == "Nothing was due.\n"
    assert run("effects").out == "No effect waits, runs or is parked.\n"
    assert run("verify").code == 0


def test_a_dry_run_warns_too_that_no_runner_performs_the_effects(run: Command) -> None:
    handlers(run, TELL, 'name = "heard"\non = ["message:sent"]\nrun = ["true"]')
    for words in (("send", "Bob", "hi"), ("task", "add", "Parse")):
        tried = json.loads(run(*words, "--dry-run", "--json", agent="Ada").out)["warnings"]
        assert [warning["code"] for warning in tried] == ["nobody_handles"]
        assert tried == json.loads(run(*words, "--json", agent="Ada").out)["warnings"]


def test_the_story_of_an_effect_begins_with_its_cause(run: Command) -> None:
    handlers(run, FAIL)
    run("emit", "build:finished")
    assert "parked fail on build:finished, attempt 1: exit code 3: broken" in run("handle", "--drain").out
    (effect,) = run("effects", "--json").result
    assert (effect["state"], effect["reason"]) == ("parked", "exit code 3: broken")
    story = run("explain", effect["id"]).out.splitlines()
    assert [line.split()[4] for line in story] == [
        "build:finished", "effect:requested", "effect:taken", "effect:parked",
    ]  # fmt: skip


def test_a_parked_effect_is_tried_again_by_hand(run: Command) -> None:
    handlers(run, FAIL)
    run("emit", "build:finished")
    run("handle", "--drain")
    (effect,) = run("effects", "--state", "parked", "--json").result
    handlers(run, FAIL.replace("exit 3", "exit 0"))
    assert run("handle", "--drain").out == "Nothing was due.\n"
    assert run("effects", "retry", effect["id"]).out == f"due now: {effect['id']}\n"
    assert run("handle", "--drain").out == "1 done.\n"
    assert run("effects", "retry", effect["id"], "--json").error["error"] == "effect_ended"
    assert run("effects", "retry", "e-nothing", "--json").error["error"] == "unknown_effect"


def test_what_nobody_wants_done_any_more_is_dropped_for_good(run: Command) -> None:
    handlers(run, FAIL, COUNT)
    run("emit", "build:finished")
    run("handle", "--drain", "--limit", "2")
    run("emit", "build:finished")
    handlers(run, FAIL)
    parked, *orphans = [e["id"] for e in run("effects", "--json").result if e["handler"] == "count" or e["reason"]]
    assert run("effects", "drop", parked, "--json").error["error"] == "bad_arguments"
    assert run("effects", "drop", parked, *orphans, "--reason", "The server is gone").code == 0
    run("handle", "--drain")
    (left,) = run("effects", "--json").result
    with Workspace(run.repo) as person:
        assert person.effects_drop(left["id"], reason="This one too") == [left["id"]]
    assert run("effects").out == "No effect waits, runs or is parked.\n"
    assert run("needs-me").out == "Nothing waits for you.\n"
    assert run("doctor").code == 0
    story = run("explain", parked).out.splitlines()[-1]
    assert story.endswith("dropped: The server is gone")
    for again in ("retry", "drop"):
        more = ("--reason", "x")
        assert run("effects", again, parked, *more, "--json").error["error"] == "effect_ended"
    assert run("verify").code == 0


def test_a_runner_that_had_something_to_do_and_failed_says_so_by_its_exit_code(run: Command) -> None:
    handlers(run, FAIL, COUNT)
    run("emit", "build:finished")
    ran = run("handle", "--drain", "--json")
    assert (ran.code, json.loads(ran.out)["result"]["counts"]) == (6, {"done": 1, "parked": 1})
    assert run("handle", "--drain").code == 0
    assert run("handle", "--limit", "0", "--json").error["error"] == "bad_arguments"


def test_a_handler_that_causes_its_own_event_is_stopped_and_the_chain_is_told(run: Command) -> None:
    again = f'[{json.dumps(sys.executable)}, "-m", "moot", "--agent", "Ada", "emit", "build:again"]'
    handlers(run, f'name = "loop"\non = ["build:*"]\nrun = {again}')
    run("emit", "build:finished")
    ran = run("handle", "--drain", "--limit", "40")
    assert ran.out.splitlines()[-1] == f"{DEEPEST + 1} done."
    (effect,) = run("effects", "--json").result
    assert (effect["state"], effect["attempt"]) == ("parked", 0)
    assert f"{DEEPEST + 1} effects, each caused by the one before: loop on build:finished (e-" in effect["reason"]
    assert effect["reason"].count("loop on build:again (e-") == DEEPEST


def test_an_effect_whose_event_was_redacted_is_parked_and_not_performed(run: Command, bob: Workspace) -> None:
    handlers(run, COUNT, 'name = "tell"\non = ["build:*"]\nmessage = { to = "Bob", text = "{data.secret}" }')
    event = run("emit", "build:finished", "--data", '{"secret": "hunter2", "redacted": true}', "--json").result
    assert run("redact", str(event["position"]), "--reason", "A secret.").code == 0
    run("emit", "build:finished", "--data", '{"secret": "none", "redacted": true}')
    assert run("handle", "--drain").out.splitlines()[-1] == "2 done, 2 parked."
    assert [e["reason"] for e in run("effects", "--json").result] == ["its event was redacted"] * 2
    assert [event["data"]["secret"] for event in got(run)] == [letter.text for letter in bob.inbox().new] == ["none"]


def test_a_message_is_sent_by_its_handler_exactly_once(run: Command, bob: Workspace) -> None:
    handlers(run, TELL)
    run("task", "add", "Write it", agent="Ada")
    assert run("handle", "--drain").out == "1 done.\n"
    (letter,) = bob.inbox().new
    assert (letter.text, letter.task) == ("Write it is new, see task/task-001", "task-001")
    assert letter.sender == "handler tell (moot.toml)"
    kinds = [event["type"] for event in run("log", "--limit", "4", "--json").result][:3]
    assert kinds == ["effect:taken", "message:sent", "effect:done"]
    assert run("handle", "--drain").out == "Nothing was due.\n"


def test_a_message_to_nobody_fails_and_says_so(run: Command) -> None:
    handlers(run, TELL.replace("Bob", "Nemo"))
    run("task", "add", "Write it", agent="Ada")
    assert "failed tell on task:added, attempt 1: There is no agent 'Nemo'" in run("handle", "--drain").out


def test_filters_choose_the_events(run: Command) -> None:
    handlers(run, COUNT + '\nby = ["Ada"]\nstreams = ["topic/nightly"]\ndata = { ok = true }')
    with Workspace(run.repo, agent="Ada") as ada, Workspace(run.repo, agent="Bob") as bob:
        wanted = ada.emit("build:finished", stream="nightly", data={"ok": True})
        others = [
            bob.emit("build:finished", stream="nightly", data={"ok": True}),
            ada.emit("build:finished", data={"ok": True}),
            ada.emit("build:finished", stream="nightly", data={"ok": 1}),
            ada.emit("test:finished", stream="nightly", data={"ok": True}),
        ]
    assert (wanted.caused, [other.caused for other in others]) == (1, [0, 0, 0, 0])


# What may run


def test_nothing_from_a_repository_runs_before_its_content_was_allowed(run: Command) -> None:
    handlers(run, COUNT, allow=False)
    run("emit", "build:finished")
    ran = run("handle", "--drain")
    assert (ran.code, ran.out) == (0, "Nothing was due.\n")
    assert "count waits: nobody has allowed it on this machine. It would run" in ran.err
    assert got(run) == []
    (effect,) = run("effects", "--json").result
    assert (effect["state"], effect["attempt"]) == ("not-allowed", 0)
    allowed = run("allow", "count", "--yes")
    assert '"run":["sh","-c","cat >> got; echo >> got"]' in allowed.out
    assert run("handle", "--drain").out == "1 done.\n"


def test_a_changed_handler_is_asked_for_anew(run: Command) -> None:
    handlers(run, COUNT)
    handlers(run, COUNT.replace("cat", "rm -rf x; cat"), allow=False)
    run("emit", "build:finished")
    assert run("handle", "--drain").out == "Nothing was due.\n"
    handlers(run, COUNT, allow=False)
    assert run("handle", "--drain").out == "1 done.\n"


def test_what_was_allowed_can_be_forbidden_again(run: Command) -> None:
    handlers(run, COUNT)
    assert "count is not allowed here." in run("allow", "count", "--revoke").out
    run("emit", "build:finished")
    assert run("handle", "--drain").out == "Nothing was due.\n"


def test_an_agent_cannot_allow_anything(run: Command) -> None:
    handlers(run, COUNT, allow=False)
    assert run("allow", "count", "--yes", "--json", agent="Ada").error["error"] == "people_only"
    assert run("allow", "cuont", "--yes", "--json").error["error"] == "unknown_handler"


def test_consent_is_kept_outside_of_the_repository_and_for_one_place(run: Command, tmp_path: Path) -> None:
    handlers(run, COUNT)
    kept = list((Path(run.environment["HOME"]) / ".local/state/moot/allowed").iterdir())
    assert [oct(path.stat().st_mode & 0o777) for path in kept] == ["0o600"]
    elsewhere = {"XDG_STATE_HOME": str(tmp_path / "elsewhere")}
    run("emit", "build:finished")
    assert run("handle", "--drain", **elsewhere).out == "Nothing was due.\n"
    kept[0].write_bytes(b"\xff\xfe")
    assert run("handle", "--drain", "--json").error["error"] == "consent_unusable"


def test_without_handlers_there_is_nothing_to_handle(run: Command) -> None:
    assert run("handle", "--json").error["error"] == "no_handlers"


def test_effects_of_a_handler_that_is_gone_are_listed_as_such(run: Command) -> None:
    handlers(run, COUNT)
    run("emit", "build:finished")
    handlers(run, FAIL)
    assert [e["state"] for e in run("effects", "--json").result] == ["no-handler"]
    assert run("effects", "--state", "parked", "--json").result == []


# A runner that goes on


@pytest.fixture
def runner(run: Command) -> Iterator[Any]:
    """A runner of a slow handler and a quick one."""
    handlers(
        run,
        COUNT,
        'name = "slow"\non = ["nap:taken"]\nrun = ["sh", "-c", "echo $$ > napping; sleep 600"]\nat_once = 2',
    )
    process = run.popen("handle", "--json")
    until(lambda: anybody_runs(str(run.repo / ".git" / "moot")), "somebody handles")
    yield process
    process.kill()
    process.wait(PATIENCE)
    process.stdout.close()
    process.stderr.close()


def heard(stream: Any) -> str:
    """The next line, within bounds."""
    assert select.select([stream], [], [], PATIENCE)[0], "nothing is said"
    return stream.readline()


def until(true: Any, what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
    return found


def test_a_runner_wakes_at_once_and_a_slow_effect_blocks_no_other(run: Command, runner: Any) -> None:
    for _ in range(4):
        assert "nobody_handles" not in run("emit", "nap:taken").err
    until((run.repo / "napping").exists, "the slow one has begun")
    run("emit", "build:finished")
    said = json.loads(heard(runner.stdout))
    assert (said["handler"], said["outcome"]) == ("count", "done")

    def states() -> list[str]:
        return sorted(effect["state"] for effect in run("effects", "--json").result)

    until(lambda: states().count("taken") == 2, "two of the slow ones have begun")  # the second may take longer
    assert states() == ["taken", "taken", "waiting", "waiting"]


def test_what_runs_cannot_be_dropped_until_all_that_ran_it_is_dead(run: Command, runner: Any) -> None:
    run("emit", "nap:taken")
    pid = int(until(lambda: (run.repo / "napping").exists() and (run.repo / "napping").read_text(), "it has begun"))
    (effect,) = run("effects", "--json").result
    drop = ("effects", "drop", effect["id"], "--reason", "Enough.", "--json")
    assert run(*drop).error["error"] == "effect_held"
    runner.kill()
    runner.wait(PATIENCE)
    assert run(*drop).error["error"] == "effect_held", "its command goes on"
    os.killpg(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "its command is gone")
    assert until(lambda: run(*drop).code == 0, "it is dropped")
    assert run("effects").out == "No effect waits, runs or is parked.\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_stopped_stops_its_commands_and_gives_them_back(
    run: Command, runner: Any, number: int
) -> None:
    run("emit", "nap:taken")
    pid = int(until(lambda: (run.repo / "napping").exists() and (run.repo / "napping").read_text(), "it has begun"))
    runner.send_signal(number)
    assert runner.wait(PATIENCE) == 130
    assert runner.stderr.read() == ""
    (effect,) = run("effects", "--json").result
    assert (effect["state"], effect["reason"]) == ("failed", "its runner was stopped")
    until(lambda: not alive(pid), "its command is gone")
    assert "nobody_handles" in run("emit", "build:finished", "--json").out


def test_a_runner_learns_of_new_handlers_and_of_what_is_allowed(run: Command, runner: Any) -> None:
    handlers(run, COUNT.replace("build", "test"))
    run("emit", "test:finished")
    assert json.loads(heard(runner.stdout))["outcome"] == "done"


def test_a_runner_outlives_settings_that_are_broken_for_a_while(run: Command, runner: Any) -> None:
    run("emit", "build:finished")
    assert json.loads(heard(runner.stdout))["outcome"] == "done", "it has read its settings"
    good = (run.repo / "moot.toml").read_text()
    (run.repo / "moot.toml").write_text("[[handlers]]\nnam = 1\n")
    assert "[bad_settings]" in heard(runner.stderr)
    (run.repo / "moot.toml").write_text(good)
    run("emit", "build:finished")
    assert json.loads(heard(runner.stdout))["outcome"] == "done"


def test_the_doctor_tells_of_what_is_parked_and_of_what_nobody_performs(run: Command) -> None:
    handlers(run, FAIL)
    run("emit", "build:finished")
    assert "1 of fail wait" in run("doctor", "--json").error["message"]
    run("handle", "--drain")
    assert "1 of fail parked" in run("doctor", "--json").error["message"]


def test_what_only_a_person_can_let_go_on_is_in_the_queue_of_the_person(run: Command) -> None:
    handlers(run, COUNT, FAIL, allow=False)
    run("allow", "fail", "--yes")
    run("emit", "build:finished")
    run("handle", "--drain")
    effect, handler = sorted(run("needs-me", "--json").result, key=lambda item: item["kind"])
    assert (effect["kind"], effect["who"], effect["command"]) == (
        "effect",
        "fail",
        f"moot effects retry {effect['id']}, or moot effects drop {effect['id']} --reason '…'",
    )
    assert (handler["id"], handler["command"]) == ("count", "moot allow count")
    assert "wants to run [" in handler["text"]
    assert run("needs-me", "--answer", "count", "perhaps", "--json").error["error"] == "not_answered_here"
    assert run("needs-me", "--answer", "count", "yes", "--json", agent="Ada").error["error"] == "people_only"
    assert run("needs-me", "--answer", effect["id"], "Repaired.").out == f"due now: {effect['id']}\n"
    assert [item["kind"] for item in run("needs-me", "--json").result] == ["handler"]
    assert '"run":["sh","-c","cat >> got; echo >> got"]' in run("needs-me", "--answer", "count", "yes").out
    assert run("needs-me").out == "Nothing waits for you.\n"


def test_the_python_api_performs_effects_one_by_one(
    run: Command, ada: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", run.environment["HOME"])
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    handlers(run, TELL)
    with Workspace(run.repo) as person:
        person.task_add("One")
        person.task_add("Two")
        assert [one.outcome for one in person.handle(limit=1)] == ["done"]
        assert [one.outcome for one in person.handle(drain=True)] == ["done"]
        person.task_add("Three")
        assert next(person.handle()).outcome == "done"
