"""A day with a handler: a repository posts its builds to a web service, with the command that the how-to shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.docs.receiver import Receiver
from tests.surfaces.command import new_command

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "handle-events.md"


def test_a_build_is_posted_to_a_service_that_was_down_when_it_finished(tmp_path: Path) -> None:
    moot = new_command(tmp_path)
    moot.environment |= {"MOOT_PERSON": "1", "ANNOUNCE_TOKEN": "t0ken"}
    assert moot("init").code == 0

    def ended(*words: str) -> list[str]:
        return [one["outcome"] for one in json.loads(moot("handle", *words, "--json").out)["result"]["effects"]]

    (shown,) = (one for one in re.findall("```toml\n(.*?)```", HOW_TO.read_text(), re.DOTALL) if "curl" in one)
    with Receiver().running() as service:
        handler = shown.replace("https://example.org/hook", service.url) + 'backoff = "0.05s"\n'
        (moot.repo / "moot.toml").write_text(handler)
        event = moot("emit", "build:finished", "--data", '{"branch": "main"}', "--json").result
        assert ended("--drain") == [], "a repository runs nothing before a person allows it"
        assert moot("allow", "announce", "--yes").code == 0
        service.status = 503
        assert ended("--limit", "1") == ["failed"]
        service.status = 200
        assert ended("--limit", "1") == ["done"]
        assert ended("--drain") == []
    down, up = service.got
    for _, headers, body in (down, up):
        assert headers["Authorization"] == "Bearer t0ken"
        assert headers["Content-Type"] == "application/json"
        assert json.loads(body)["position"] == event["position"]
    assert down[1]["Idempotency-Key"] == up[1]["Idempotency-Key"]
    assert moot("effects", "--json").result == [], "nothing is left to do"


def test_a_deployment_that_is_killed_runs_again_and_one_that_fails_waits_for_a_person(tmp_path: Path) -> None:
    """The first attempt is killed, as by a machine that runs out of memory. The other command lacks its server."""
    moot = new_command(tmp_path)
    moot.environment |= {"MOOT_PERSON": "1"}
    assert moot("init").code == 0
    (moot.repo / "moot.toml").write_text(
        "".join(
            f'[[handlers]]\nname = "{name}"\non = ["build:finished"]\nrun = ["sh", "{name}.sh"]\nattempts = 2\n'
            'backoff = "0.05s"\n'
            for name in ("deploy", "notify")
        )
    )
    (moot.repo / "deploy.sh").write_text(
        'echo "$MOOT_EFFECT_KEY $MOOT_EFFECT_ATTEMPT" >> keys\n'
        '[ "$MOOT_EFFECT_ATTEMPT" = 1 ] && kill -9 $$\ntouch live\n'
    )
    (moot.repo / "notify.sh").write_text("[ -e server ] || { echo no server; exit 7; }\necho $MOOT_EFFECT_KEY > told\n")

    def performed(*words: str) -> list[tuple[str, str, int, str]]:
        found = json.loads(moot("handle", *words, "--json").out)["result"]["effects"]
        return sorted((one["handler"], one["outcome"], one["attempt"], one["detail"]) for one in found)

    assert moot("allow", "--all", "--yes").code == 0
    assert moot("emit", "build:finished").code == 0
    assert performed("--limit", "4") == [
        ("deploy", "done", 2, ""),
        ("deploy", "failed", 1, "killed by signal 9"),
        ("notify", "failed", 1, "exit code 7: no server"),
        ("notify", "parked", 2, "exit code 7: no server"),
    ]
    (key, one), (same, two) = (line.split() for line in (moot.repo / "keys").read_text().splitlines())
    assert (key, one, two) == (same, "1", "2")
    assert (moot.repo / "live").exists()

    (waiting,) = moot("needs-me", "--json").result
    parked = waiting["id"]
    assert (waiting["kind"], waiting["who"]) == ("effect", "notify")
    assert performed("--drain") == [], "a parked effect waits for a person"
    (moot.repo / "server").touch()
    assert moot("effects", "retry", parked).code == 0
    assert performed("--drain") == [("notify", "done", 3, "")]
    assert (moot.repo / "told").read_text().strip() == parked
    assert moot("effects", "--json").result == []

    (moot.repo / "notify.sh").write_text("exit 0\n")
    moot("emit", "build:finished")
    changed = moot("handle", "--drain")
    assert "notify waits: its content changed since it was allowed: notify.sh" in changed.err
