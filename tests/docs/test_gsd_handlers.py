"""The examples of custom handlers, with receivers on this machine that check what they get, as the services do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.receiver import Receiver
from tests.specs.gsd.handling import COMPLETED, FAILED, SAMPLE, STARTED, Site

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "gsd-handlers"
KEY = "R" * 32


@pytest.fixture
def site(tmp_path: Path) -> Site:
    found = Site(tmp_path)
    folder = found.root / "tools"
    folder.mkdir()
    for example in EXAMPLES.iterdir():
        shutil.copy(example, folder)
    found.configure(SAMPLE)
    return found


def register(site: Site, name: str, *variables: str) -> None:
    run = f'run = ["tools/{name}.py"]\nenv = {json.dumps(list(variables))}\n'
    site.register(name, f'{run}backoff = "0.05s"')


def run(site: Site, name: str, **env: str) -> list[tuple[str, str]]:
    site.allow(f"gsd/{name}")
    site.moot.environment |= env
    return [one for one in site.handle() if one[0] == f"gsd/{name}"]


def test_slack_gets_a_message_as_its_incoming_webhooks_take_it(site: Site) -> None:
    register(site, "slack-notify", "SLACK_WEBHOOK_URL")
    site.emit({**STARTED, "taskName": "Create <!channel> & model"})
    site.emit(COMPLETED)
    with Receiver().running() as slack:
        slack.status, slack.body = 200, b"ok"
        assert run(site, "slack-notify", SLACK_WEBHOOK_URL=slack.url) == [("gsd/slack-notify", "done")]
    ((_, headers, body),) = slack.got
    assert headers["Content-Type"] == "application/json"
    message = json.loads(body)
    text = ":white_check_mark: task:completed plan 01-02 task 1 Create &lt;!channel&gt; &amp; model"
    assert message["text"] == text
    (block,) = message["blocks"]
    assert (block["type"], block["text"]["type"]) == ("section", "mrkdwn")
    assert block["text"]["text"].splitlines()[0] == f"*{text}*"
    assert "commit: abc1234" in block["text"]["text"]
    assert 0 < len(block["text"]["text"]) <= 3000


def check_pagerduty(body: bytes) -> dict[str, Any]:
    """What the Events API v2 requires."""
    event: dict[str, Any] = json.loads(body)
    assert event["routing_key"] == KEY
    assert event["event_action"] in ("trigger", "acknowledge", "resolve")
    assert 0 < len(event["dedup_key"]) <= 255
    if event["event_action"] == "trigger":
        payload = event["payload"]
        assert 0 < len(payload["summary"]) <= 1024
        assert payload["severity"] in ("critical", "error", "warning", "info")
        assert payload["source"]
    return event


def test_pagerduty_gets_one_incident_for_each_failed_task_which_is_resolved_when_the_task_succeeds(site: Site) -> None:
    site.handlers(
        task_failed=["builtin:error-handler", "custom:pagerduty-alert"],
        task_completed=["builtin:blackboard-sync", "custom:pagerduty-alert"],
    )
    register(site, "pagerduty-alert", "PAGERDUTY_ROUTING_KEY", "PAGERDUTY_URL")
    site.emit({**FAILED, "error": "Test verification failed " * 100})
    with Receiver().running() as service:
        service.status, service.body = 202, b'{"status": "success"}'
        known = {"PAGERDUTY_ROUTING_KEY": KEY, "PAGERDUTY_URL": service.url}
        assert run(site, "pagerduty-alert", **known) == [("gsd/pagerduty-alert", "done")]
        site.emit({**COMPLETED, "task": 2})
        assert run(site, "pagerduty-alert", **known) == [("gsd/pagerduty-alert", "done")]
    opened, resolved = [check_pagerduty(body) for _, _, body in service.got]
    assert (opened["event_action"], resolved["event_action"]) == ("trigger", "resolve")
    assert opened["dedup_key"] == resolved["dedup_key"] == "gsd/01-02.2"
    assert opened["payload"]["summary"].startswith("01-02 task 2 failed: Test verification failed")
    assert opened["payload"]["custom_details"]["eventId"] == 1


@pytest.mark.parametrize("status", [400, 500])
def test_a_service_that_refuses_is_tried_again_and_the_reason_is_kept(site: Site, status: int) -> None:
    register(site, "slack-notify", "SLACK_WEBHOOK_URL")
    site.emit(COMPLETED)
    with Receiver().running() as slack:
        slack.status, slack.body = status, b"invalid_payload"
        assert run(site, "slack-notify", SLACK_WEBHOOK_URL=slack.url)[0] == ("gsd/slack-notify", "failed")
    assert site.ran()["gsd/slack-notify"]["reason"] == f"exit code 1: Slack: {status} invalid_payload"
