"""The part of HTTP that metrics need: the first line and one header of a request, and a whole answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

PLAIN = "text/plain; charset=utf-8"
LONGEST_HEAD = 8192  # bytes of a request line and its headers
END_OF_HEAD = b"\r\n\r\n"
_READING = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`accept`: the formats that the client understands, in its own words."""

    path: str
    accept: str = ""
    wants_body: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN

    @classmethod
    def line(cls, status: HTTPStatus, text: str) -> Answer:
        return cls(status, f"{text}\n".encode())

    def encoded(self, *, with_body: bool = True) -> bytes:
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
            f"Content-Type: {self.content_type}\r\n"
            f"Content-Length: {len(self.body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + (self.body if with_body else b"")


def read_request(head: bytes) -> HttpRequest | Answer:
    """The request, or the answer to one that cannot be understood."""
    first, *headers = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return Answer.line(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1")
    method, target, _ = words
    if method not in _READING:
        return Answer.line(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are understood")
    return HttpRequest(target.partition("?")[0], _header(headers, "accept"), method == "GET")


def _header(headers: list[str], name: str) -> str:
    """The values of all headers of this name."""
    pairs = (line.partition(":") for line in headers)
    return ", ".join(value.strip() for key, _, value in pairs if key.strip().lower() == name)
