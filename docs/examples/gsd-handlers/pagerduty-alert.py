#!/usr/bin/env python3
"""A custom handler of the gsd pack: opens an incident in PagerDuty for a failed task, and resolves it when it succeeds.

It gets the event as JSON on standard input. PAGERDUTY_ROUTING_KEY is the integration key of a service (Events API v2).
The incident has one key for each task, so that a repeated attempt, or the next failed run, opens no second one.
"""

import json
import os
import sys
import urllib.error
import urllib.request

URL = "https://events.pagerduty.com/v2/enqueue"


def payload(event: dict, routing_key: str) -> dict:
    task = f"{event['plan']} task {event['task']}"
    incident = {"routing_key": routing_key, "dedup_key": f"gsd/{event['plan']}.{event['task']}"}
    if event["type"] == "task:completed":
        return {**incident, "event_action": "resolve"}
    return {
        **incident,
        "event_action": "trigger",
        "payload": {
            "summary": f"{task} failed: {event['error']}"[:1024],
            "source": event["agent"],
            "severity": "error",
            "timestamp": event["timestamp"],
            "component": event["plan"],
            "custom_details": event,
        },
    }


def main() -> None:
    event = json.load(sys.stdin)
    request = urllib.request.Request(
        os.environ.get("PAGERDUTY_URL", URL),
        data=json.dumps(payload(event, os.environ["PAGERDUTY_ROUTING_KEY"])).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            print(f"PagerDuty: {answer.status}")
    except urllib.error.HTTPError as error:
        sys.exit(f"PagerDuty: {error.code} {error.read(200).decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"PagerDuty: {error}")


if __name__ == "__main__":
    main()
