"""Sends a webhook: one POST, signed as in Standard Webhooks, to an address that is resolved once and checked.

Redirects are not followed. A private, local or special address is refused unless `allow_hosts` names the host. The
connection uses exactly the checked address. Over HTTPS, the certificate is verified before anything is sent. Time and
size of the response are limited.
"""

from __future__ import annotations

import base64
import binascii
import hashlib  # noqa: TID253 (this module itself is loaded on demand)
import hmac
import ipaddress
import json
import socket  # noqa: TID253
import ssl
import time
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException
from queue import Empty, SimpleQueue
from threading import Event, Thread  # noqa: TID253
from urllib.parse import urlsplit

from moot.core.deciders.effect import LONGEST_WAIT
from moot.effects.performers import NEW_SECRET, Result
from moot.engine.tracing import VARIABLE, checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPResponse

    from moot.effects.performers import EffectInput

_SECRET = "whsec_"  # noqa: S105 (the prefix of a secret)
_SHORTEST = 24  # bytes of a secret, as in Standard Webhooks
_LARGEST = 64 * 1024  # bytes of a response to read
_SHOWN = 500
_TICK = 0.2
_GONE, _BUSY = 410, (429, 503)

# Networks that are not part of the public internet, from the special-purpose address registries. Python's own list
# differs between versions.
_SPECIAL = [
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    )
]  # fmt: skip
_SPECIAL_6 = [ipaddress.IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "3fff::/20")]
_INTERNET_6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class _Refused(Exception):
    """Nothing is sent to this address. The text is the reason."""


def post(job: EffectInput) -> Result:
    variable = job.handler.secret_env
    secret = None if variable is None else secret_of(job.env.get(variable, ""))
    if variable is not None and secret is None:  # never send unsigned what must be signed
        why = f"{variable} does not contain a signing secret: whsec_ and the base64 of at least {_SHORTEST} bytes"
        return Result(ok=False, detail=f"{why}. {NEW_SECRET}, and give it to the receiver", hopeless=True)
    url = urlsplit(job.handler.url or "")
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    end = time.monotonic() + job.handler.timeout
    over = Event()
    try:
        found = _judged(host, _looked_up(host, port, job, end), job.handler.allow_hosts)
        with _connected(found, port, host if url.scheme == "https" else None, end) as sock:
            Thread(target=_cut_off, args=(sock, job, end, over), daemon=True).start()
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
            path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
            return _judge(_exchanged(sock, url.netloc, path, job, secret))
    except _Refused as refused:
        return Result(ok=False, detail=str(refused), hopeless=True)
    except (OSError, HTTPException, UnicodeError) as error:
        if job.cancel.is_set():
            return Result(ok=False, detail="its runner was stopped", stopped=True)
        late = time.monotonic() >= end or isinstance(error, TimeoutError)
        problem = f"no answer within {job.handler.timeout:g} s" if late else _described(error)
        return Result(ok=False, detail=f"{host}: {problem}")
    finally:
        over.set()


def _described(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); nothing was sent"
    return f"{type(error).__name__}: {error}"


def secret_of(text: str) -> bytes | None:
    """The key in a secret in the format of Standard Webhooks; None if it is missing, malformed or too short."""
    if not text.startswith(_SECRET):
        return None
    try:
        found = base64.b64decode(text.removeprefix(_SECRET), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if len(found) >= _SHORTEST else None


def signature(secret: bytes, key: str, moment: int, body: bytes) -> str:
    signed = hmac.new(secret, f"{key}.{moment}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def is_public(text: str) -> bool:
    """Whether an address is on the public internet. Also checks an IPv4 address embedded in an IPv6 one."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None:
            return address in _INTERNET_6 and not any(address in network for network in _SPECIAL_6)
        address = inner
    return not any(address in network for network in _SPECIAL)


def _looked_up(host: str, port: int, job: EffectInput, end: float) -> list[str]:
    """The addresses of a host. A slow resolver cannot be interrupted, so a thread calls it and may be abandoned."""
    answers: SimpleQueue[list[str] | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put([str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)])
        except (OSError, UnicodeError) as error:
            answers.put(error)

    Thread(target=ask, daemon=True).start()
    while (left := end - time.monotonic()) > 0 and not job.cancel.is_set():
        try:
            answer = answers.get(timeout=min(left, _TICK))
        except Empty:
            continue
        if isinstance(answer, Exception):
            raise answer
        return answer
    raise TimeoutError


def _judged(host: str, found: list[str], allowed: tuple[str, ...]) -> list[str]:
    """The addresses to connect to. If a name has several, all of them must be allowed."""
    if host.lower() not in [name.lower() for name in allowed]:
        for address in found:
            if not is_public(address):
                raise _Refused(f"{host} is at {address}, which is not a public address; add the host to allow_hosts")
    return found


def _connected(found: list[str], port: int, name: str | None, end: float) -> socket.socket:
    """A connection to the first address that answers. With `name` it uses TLS, and the handshake is still to do."""
    plain = _reached(found, port, end)
    if name is None:
        return plain
    try:
        trust = ssl.create_default_context()
        return trust.wrap_socket(plain, server_hostname=name, do_handshake_on_connect=False)
    except BaseException:
        plain.close()
        raise


def _reached(found: list[str], port: int, end: float) -> socket.socket:
    for number, address in enumerate(found, 1):
        try:
            return socket.create_connection((address, port), timeout=max(0.01, end - time.monotonic()))
        except OSError:
            if number == len(found):
                raise
    raise TimeoutError


def _cut_off(sock: socket.socket, job: EffectInput, end: float, over: Event) -> None:
    """End an exchange that takes too long, even if the receiver keeps sending slowly."""
    while not over.wait(_TICK):
        if time.monotonic() >= end or job.cancel.is_set():
            try:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already
            return


def _exchanged(sock: socket.socket, host: str, path: str, job: EffectInput, secret: bytes | None) -> HTTPResponse:
    event = job.event
    packed = {"type": event["type"], "timestamp": event["at"], "data": event} if not job.handler.pack else event
    body = json.dumps(packed).encode()
    moment = int(time.time())
    headers = {
        "Host": host,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        "User-Agent": "moot",
        "webhook-id": job.key,
        "webhook-timestamp": str(moment),
    }
    if secret is not None:
        headers["webhook-signature"] = signature(secret, job.key, moment, body)
    if (trace := checked(job.env.get(VARIABLE))) is not None:
        headers["traceparent"] = trace
    connection = HTTPConnection(host)
    connection.sock = sock
    connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    return connection.getresponse()


def _judge(answer: HTTPResponse) -> Result:
    with answer:
        said = answer.read(_LARGEST)[:_SHOWN].decode(errors="replace").strip()
    detail = f"{answer.status} {answer.reason}".strip() + (f": {said}" if said else "")
    if 200 <= answer.status < 300:
        return Result(ok=True, detail=detail)
    if 300 <= answer.status < 400:
        return Result(ok=False, detail=f"{detail} (redirects are not followed)")
    after = _asked_to_wait(answer.getheader("Retry-After")) if answer.status in _BUSY else 0.0
    return Result(ok=False, detail=detail, after=after, hopeless=answer.status == _GONE)


def _asked_to_wait(text: str | None) -> float:
    """The seconds in a `Retry-After` header, which is a number of seconds or a date."""
    said = (text or "").strip()
    if said.isascii() and said.isdigit():
        return min(float(said[:10]), LONGEST_WAIT)
    try:
        wait = parsedate_to_datetime(said).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(wait, 0.0), LONGEST_WAIT)
