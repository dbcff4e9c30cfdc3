"""A receiver of webhooks on this machine, plain or encrypted, and the authority that vouches for it."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class Receiver(ThreadingHTTPServer):
    """Answers as it is told, and remembers what it got."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.status, self.headers, self.body = 204, {}, b""
        self.got: list[tuple[str, Any, bytes]] = []
        self.let_go = threading.Event()
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_address[1]}/hook?a=b"

    @contextmanager
    def running(self) -> Iterator[Self]:
        with self:
            thread = threading.Thread(target=self.serve_forever, args=(0.01,))
            thread.start()
            try:
                yield self
            finally:
                self.let_go.set()
                self.shutdown()
                thread.join(30)

    def handle_error(self, *_: object) -> None:
        """A caller that hangs up, as one does that does not trust us."""


class _Answering(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        server = self.server
        server.got.append((self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
        if server.status == 0:  # says a letter now and then, and never an end
            try:
                while not server.let_go.wait(0.05):
                    self.wfile.write(b"H")
            except OSError:
                return
            return
        self.send_response(server.status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(server.body)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        return


class Authority:
    """Makes certificates with the openssl command; `file` is what those trust who trust it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.file = directory / "authority.pem"
        self._openssl(
            "req", "-x509", *_NEW_KEY, "-subj", "/CN=A test's own authority", "-keyout", "authority.key",
            "-out", self.file.name, "-addext", "keyUsage=critical,keyCertSign",
        )  # fmt: skip

    def vouched(self, names: str, days: int = 2) -> ssl.SSLContext:
        """What a server needs that is known by these names, such as `DNS:localhost,IP:127.0.0.1`."""
        self._openssl("req", *_NEW_KEY, "-subj", "/CN=receiver", "-keyout", "receiver.key", "-out", "receiver.csr")
        (self._directory / "names").write_text(f"subjectAltName={names}\n")
        self._openssl(
            "x509", "-req", "-in", "receiver.csr", "-CA", self.file.name, "-CAkey", "authority.key", "-CAcreateserial",
            "-days", str(days), "-extfile", "names", "-out", "receiver.pem",
        )  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._directory / "receiver.pem", self._directory / "receiver.key")
        return context

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._directory, check=True, capture_output=True, timeout=60)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
