"""Webhooks over TLS, against a real server: who cannot prove who it is gets nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.receiver import Authority, Receiver
from tests.engine.test_webhooks import EVENT, post
from tests.surfaces.command import Command, new_command

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
HERE = "DNS:localhost,IP:127.0.0.1"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server(authority: Authority) -> Iterator[Receiver]:
    with Receiver(authority.vouched(HERE)).running() as made:
        yield made


def test_a_trusted_receiver_gets_it(server, authority, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert post(server.url).ok
    assert json.loads(server.got[0][2])["data"] == EVENT
    assert post(server.url.replace("127.0.0.1", "localhost"), allow=("localhost",)).ok


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(server):
    result = post(server.url)
    assert (result.ok, result.hopeless) == (False, False)
    assert result.detail.startswith("127.0.0.1: its certificate is not trusted (")
    assert result.detail.endswith("); nothing was sent")
    assert server.got == []


@pytest.mark.parametrize(
    ("names", "days", "why"), [("DNS:example.org", 2, "mismatch"), (HERE, -1, "expired")], ids=["name", "expired"]
)
def test_a_certificate_of_another_or_of_the_past_is_refused(authority, monkeypatch, names, days, why):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with Receiver(authority.vouched(names, days)).running() as server:
        detail = post(server.url).detail
    assert "its certificate is not trusted (" in detail
    assert why in detail
    assert server.got == []


def test_a_receiver_without_encryption_gets_nothing_over_https(authority, monkeypatch):
    with Receiver().running() as server:
        result = post(server.url.replace("http://", "https://"))
    assert not result.ok
    assert "SSL" in result.detail
    assert server.got == []


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Command:
    made = new_command(tmp_path_factory.mktemp("world"))
    assert made("init").code == 0
    return made


def test_an_effect_waits_or_is_parked_while_its_receiver_is_not_trusted_and_is_done_once_it_is(run, server, authority):
    for_it = f'on = ["build:*"]\nbackoff = "1h"\nurl = "{server.url}"\nallow_hosts = ["127.0.0.1"]'
    (run.repo / "moot.toml").write_text(
        f'[[handlers]]\nname = "once"\nattempts = 1\n{for_it}\n[[handlers]]\nname = "twice"\nattempts = 2\n{for_it}\n'
    )
    assert run("allow", "once", "twice", "--yes", MOOT_PERSON="1").code == 0
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    run("emit", "build:finished", TRACEPARENT=trace)
    assert run("handle", "--drain").code == 6
    found = run("effects", "--json").result
    assert {one["handler"]: one["state"] for one in found} == {"once": "parked", "twice": "failed"}
    assert all("its certificate is not trusted" in one["reason"] for one in found)
    assert server.got == []

    run("effects", "retry", *(one["id"] for one in found))
    assert run("handle", "--drain", SSL_CERT_FILE=str(authority.file)).out == "2 done.\n"
    assert {headers["webhook-id"] for _, headers, _ in server.got} == {one["id"] for one in found}
    assert [headers["traceparent"] for _, headers, _ in server.got] == [trace, trace]
