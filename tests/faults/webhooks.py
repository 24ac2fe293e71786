"""A receiver of webhooks on loopback, which answers as it is told and keeps what it was sent."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from socket import create_server
from threading import Thread
from typing import Any

PATIENCE = 30.0  # seconds; reached only by a test that fails

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Receiver:
    """`answers`: for the next requests, in order; after them 204."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list[Answer])
    requests: Queue[tuple[dict[str, str], bytes]] = field(default_factory=Queue[tuple[dict[str, str], bytes]])

    def next(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Headers and body of the next request."""
        headers, content = self.requests.get(timeout=PATIENCE)
        return headers, json.loads(content)

    def next_signed(self, secret: str) -> dict[str, Any]:
        """The body of the next request, whose signature is right."""
        headers, content = self.requests.get(timeout=PATIENCE)
        text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + content
        digest = base64.b64encode(hmac.digest(secret.encode(), text, hashlib.sha256)).decode()
        assert headers["webhook-signature"] == f"v1,{digest}"
        found: dict[str, Any] = json.loads(content)
        return found


def status(code: int, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


@contextmanager
def receiver(*answers: Answer, tls: ssl.SSLContext | None = None) -> Generator[Receiver]:
    """`tls`: the receiver speaks HTTPS with this context; None: HTTP."""
    seen = Receiver(answers=list(answers))

    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            seen.requests.put(({name.lower(): value for name, value in self.headers.items()}, content))
            (seen.answers.pop(0) if seen.answers else status(204))(self)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    seen.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}/told"
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def silent(number: int) -> Generator[list[str]]:
    """URLs of so many receivers that take a request and never answer."""
    sockets = [create_server((f"127.0.0.{2 + place}", 0), backlog=200) for place in range(number)]
    try:
        yield [f"http://{host}:{port}/told" for host, port in (each.getsockname() for each in sockets)]
    finally:
        for each in sockets:
            each.close()
