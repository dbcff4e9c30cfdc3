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
