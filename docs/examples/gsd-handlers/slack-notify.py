#!/usr/bin/env python3
"""A custom handler of the gsd pack: tells a Slack channel about an event of the blackboard.

It gets the event as JSON on standard input. SLACK_WEBHOOK_URL is the address of an incoming webhook of Slack. moot runs
it again if it fails, with growing pauses.
"""

import json
import os
import sys
import urllib.error
import urllib.request

ICONS = {"task:completed": ":white_check_mark:", "task:failed": ":x:", "checkpoint:reached": ":raised_hand:"}


def payload(event: dict) -> dict:
    """The message: a text for notifications, and the same with details."""
    kind = event["type"]
    where = " ".join(f"{key} {event[key]}" for key in ("plan", "task", "path") if key in event)
    title = event.get("taskName") or event.get("decision") or event.get("awaiting") or ""
    details = {key: event[key] for key in ("agent", "commit", "duration", "error") if key in event}
    text = " ".join(filter(None, (ICONS.get(kind, ":memo:"), kind, where, escaped(str(title)))))
    lines = [f"*{text}*", *(f"{key}: {escaped(str(value))}" for key, value in details.items())]
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(lines)[:3000]}}
    return {"text": text, "blocks": [section]}


def escaped(text: str) -> str:
    """Text of an agent, so that it cannot mention anybody or hide a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def main() -> None:
    event = json.load(sys.stdin)
    request = urllib.request.Request(
        os.environ["SLACK_WEBHOOK_URL"],
        data=json.dumps(payload(event)).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            print(f"Slack: {answer.status}")
    except urllib.error.HTTPError as error:
        sys.exit(f"Slack: {error.code} {error.read(200).decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"Slack: {error}")


if __name__ == "__main__":
    main()
