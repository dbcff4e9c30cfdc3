"""Attacks on webhooks: a secret that anybody could guess signs nothing, and nothing leaves unsigned instead."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator

import pytest

from moot.effects.performers.webhook import secret_of
from tests.engine.receiver import Receiver
from tests.engine.test_webhooks import post
from tests.surfaces.command import Command, new_command

BAD = {
    "no base64": "whsec_???",
    "nothing after the prefix": "whsec_",
    "half of a group": "whsec_YQ",
    "without the prefix": base64.b64encode(b"k" * 32).decode(),
    "plain words": "correct horse battery staple and then some",
    "too short by a byte": "whsec_" + base64.b64encode(b"k" * 23).decode(),
    "a line break inside": "whsec_" + base64.b64encode(b"k" * 32).decode() + "\n",
}


@pytest.fixture
def server() -> Iterator[Receiver]:
    with Receiver().running() as made:
        yield made


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_weak_secret_parks_the_effect_and_nothing_is_sent(server: Receiver, text: str) -> None:
    assert secret_of(text) is None
    result = post(server.url, secret_env="HOOK", env={"HOOK": text})
    assert (result.ok, result.hopeless, server.got) == (False, True, [])
    assert "HOOK does not contain a signing secret" in result.detail
    assert text not in result.detail or len(text) < 10, "the log does not keep secrets"


def test_the_command_that_the_refusal_names_makes_a_good_secret(server: Receiver) -> None:
    detail = post(server.url, secret_env="HOOK", env={"HOOK": "weak"}).detail
    command = detail.split("`")[1]
    made = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    assert post(server.url, secret_env="HOOK", env={"HOOK": made}).ok
    assert server.got[0][1]["webhook-signature"].startswith("v1,")


def test_a_secret_of_twenty_four_bytes_is_enough() -> None:
    key = os.urandom(24)
    assert secret_of(f"whsec_{base64.b64encode(key).decode()}") == key


def test_a_runner_parks_what_it_cannot_sign(tmp_path, server: Receiver) -> None:
    run: Command = new_command(tmp_path)
    assert run("init").code == 0
    url = f'url = "{server.url}"\nallow_hosts = ["127.0.0.1"]\nsecret_env = "HOOK"'
    (run.repo / "moot.toml").write_text(f'[[handlers]]\nname = "hook"\non = ["build:*"]\n{url}\n')
    assert run("allow", "hook", "--yes", MOOT_PERSON="1").code == 0
    assert run("emit", "build:finished", MOOT_PERSON="1").code == 0
    ran = run("handle", "--drain", HOOK="whsec_dG9vIHNob3J0", MOOT_PERSON="1")
    assert (ran.code, server.got) == (6, [])
    assert "parked hook on build:finished, attempt 1: HOOK does not contain a signing secret" in ran.out
