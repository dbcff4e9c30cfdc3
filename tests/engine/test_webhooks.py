"""Webhooks, against a real server on this machine: signed, bounded, not redirected, and not sent to just anybody."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from moot.core.handler import Handler
from moot.effects.performers import EffectInput, missing, perform
from moot.effects.performers.webhook import is_public
from tests.engine.receiver import Receiver

EVENT = {"id": "c.0", "type": "build:finished", "at": "2031-05-08T09:30:00.000Z", "data": {"branch": "grün"}}
SECRET = b"sixteen bytes or more of it"
ENV = {"HOOK": f"whsec_{base64.b64encode(SECRET).decode()}"}


@pytest.fixture
def server() -> Iterator[Receiver]:
    with Receiver().running() as made:
        yield made


def post(
    url: str, *, allow: tuple[str, ...] = ("127.0.0.1",), timeout: float = 30.0, cancel=None, env=ENV, **fields: Any
):
    handler = Handler(name="h", on=("a:b",), url=url, allow_hosts=allow, timeout=timeout, **fields)
    flag = cancel or threading.Event()
    return perform(EffectInput(handler=handler, event=EVENT, key="e-1", attempt=1, env=env, cancel=flag))


def test_a_webhook_is_signed_as_the_standard_says(server):
    assert post(server.url, secret_env="HOOK").ok
    ((path, headers, body),) = server.got
    assert path == "/hook?a=b"
    assert json.loads(body) == {"type": "build:finished", "timestamp": EVENT["at"], "data": EVENT}
    assert headers["webhook-id"] == "e-1"
    signed = f"e-1.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["Host"] == server.url.split("/")[2]


def test_without_a_secret_it_is_not_signed(server):
    assert post(server.url).ok
    assert "webhook-signature" not in server.got[0][1]


@pytest.mark.parametrize(
    ("status", "ok", "hopeless"),
    [
        (200, True, False),
        (204, True, False),
        (302, False, False),
        (404, False, False),
        (410, False, True),
        (500, False, False),
    ],
)
def test_the_status_says_what_came_of_it(server, status, ok, hopeless):
    server.status, server.headers = status, {"Location": server.url}
    result = post(server.url)
    assert (result.ok, result.hopeless) == (ok, hopeless)
    assert len(server.got) == 1, "a redirect was followed"


@pytest.mark.parametrize(
    ("status", "header", "after"),
    [(429, "17", 17.0), (503, "99999999", 86_400.0), (503, "soon", 0.0), (500, "17", 0.0), (429, "-1", 0.0)],
)
def test_a_busy_receiver_says_when_to_come_back(server, status, header, after):
    server.status, server.headers = status, {"Retry-After": header}
    assert post(server.url).after == after


def test_a_date_to_come_back_is_understood(server):
    server.status, server.headers = 503, {"Retry-After": "Fri, 01 Jan 2999 00:00:00 GMT"}
    assert post(server.url).after == 86_400.0


def test_a_private_address_is_refused_unless_its_host_is_named(server):
    result = post(server.url, allow=("localhost", "example.org"))
    assert (result.ok, result.hopeless) == (False, True)
    assert "127.0.0.1, which is not a public address" in result.detail
    assert server.got == []


def test_a_name_that_leads_to_a_private_address_is_refused_too(server):
    url = server.url.replace("127.0.0.1", "localhost")
    assert post(url, allow=()).hopeless
    assert server.got == []
    assert post(url, allow=("LocalHost",)).ok


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::", "64:ff9b:1::7f00:1",
        "fec0::1", "::127.0.0.1", "::1.1.1.1", "::ffff:0:127.0.0.1", "::ffff:0:1.1.1.1", "3fff::1", "5f00::1", "100::1",
        "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.7", "203.0.113.9",
        "64:ff9b:1::101:101", "240.0.0.1", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1", "4000::1",
    ],
)  # fmt: skip
def test_special_addresses_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1", "93.184.216.34", "192.0.1.1", "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888",
        "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1",
    ],
)  # fmt: skip
def test_addresses_of_the_internet_are_public(address):
    assert is_public(address)


def test_a_receiver_that_never_ends_is_cut_off(server):
    server.status = 0
    result = post(server.url, timeout=0.5)
    assert (result.ok, result.detail) == (False, "127.0.0.1: no answer within 0.5 s")


@pytest.mark.parametrize("ends_by", ["time", "the runner"])
def test_a_resolver_that_never_answers_is_given_up(monkeypatch, ends_by):
    let_go, cancel = threading.Event(), threading.Event()

    def never(*_: object, **__: object) -> list[Any]:
        if ends_by == "the runner":
            cancel.set()
        let_go.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never)
    result = post("https://example.org/", timeout=0.3 if ends_by == "time" else 60.0, cancel=cancel)
    let_go.set()
    said = "example.org: no answer within 0.3 s" if ends_by == "time" else "its runner was stopped"
    assert (result.ok, result.hopeless, result.detail) == (False, False, said)


def test_a_name_that_is_nowhere_is_a_failure_to_be_tried_again(monkeypatch):
    def unknown(*_: object, **__: object) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    result = post("https://example.org/")
    assert (result.ok, result.hopeless) == (False, False)
    assert "not known" in result.detail


def test_a_stopped_runner_cuts_it_off(server):
    server.status, cancel = 0, threading.Event()
    threading.Timer(0.2, cancel.set).start()
    assert post(server.url, timeout=60.0, cancel=cancel).detail == "its runner was stopped"


def test_a_huge_answer_is_not_read_to_its_end(server):
    server.status, server.body = 200, b"x" * 5_000_000
    result = post(server.url)
    assert result.ok
    assert len(result.detail) < 600


def test_nobody_there_is_a_failure_to_be_tried_again():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        result = post(f"http://127.0.0.1:{free.getsockname()[1]}/")
    assert (result.ok, result.hopeless) == (False, False)
    assert "refused" in result.detail


def test_what_is_no_http_is_a_failure():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def answer() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(b"SSH-2.0-OpenSSH_9\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        result = post(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join(30)
    assert not result.ok
    assert "BadStatusLine" in result.detail


def test_a_trace_goes_along_as_a_header(server):
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert post(server.url, env={"TRACEPARENT": trace}).ok
    assert server.got[0][1].get_all("traceparent") == [trace]


@pytest.mark.parametrize("trace", [{}, {"TRACEPARENT": "nonsense"}, {"TRACEPARENT": "00-a\r\nX: y"}])
def test_without_a_trace_there_is_no_header(server, trace):
    assert post(server.url, env=trace).ok
    assert "traceparent" not in server.got[0][1]


def test_an_effect_waits_for_a_secret_that_is_not_set():
    handler = Handler(name="h", on=("a:b",), url="https://example.org", secret_env="HOOK")
    for env in ({}, {"HOOK": ""}):
        assert "HOOK does not contain a signing secret" in (missing(handler, env) or "")
    assert missing(handler, ENV) is None
