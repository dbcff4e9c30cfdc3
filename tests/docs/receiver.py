"""A receiver of HTTP requests on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Receiver(ThreadingHTTPServer):
    """Answers as it is told, and remembers what it got."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.status, self.body = 204, b""
        self.got: list[tuple[str, Any, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    @contextmanager
    def running(self) -> Iterator[Self]:
        with self:
            thread = threading.Thread(target=self.serve_forever, args=(0.01,))
            thread.start()
            try:
                yield self
            finally:
                self.shutdown()
                thread.join(30)


class _Answering(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        server = self.server
        server.got.append((self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(server.status)
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *_: object) -> None:
        return
