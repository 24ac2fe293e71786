"""The address on which metrics or the dashboard are served: a port of this host, or a unix socket."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path

from holdfast_config.service_folders import SOCKET_PATH_LIMIT

LOOPBACK = "127.0.0.1"
UNIX = "unix:"
RULE = "must be PORT, HOST:PORT or unix:PATH, as in 9464, 0.0.0.0:9464 or unix:/run/holdfast/metrics.sock"

_TCP = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[^\s:/@?#\[\]%]+)?:)?(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """`path` of a unix socket, or else `host` and `port` (0: any free one)."""

    host: str = LOOPBACK
    port: int = 0
    path: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """True for a name or an address that only this host reaches."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.path is not None:
            return f"{UNIX}{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(text: str) -> ListenAddress:
    """Raises ValueError with what is allowed. Without a host it is loopback: metrics name handlers and lanes."""
    if text.startswith(UNIX):
        return ListenAddress(path=_socket_path(text.removeprefix(UNIX)))
    match = _TCP.fullmatch(text)
    if match is None or int(match[2]) > 65_535:
        raise ValueError(RULE)
    return ListenAddress((match[1] or LOOPBACK).strip("[]"), int(match[2]))


def _socket_path(text: str) -> Path:
    if not text.strip() or not text.isprintable():
        raise ValueError(RULE)
    path = Path(text).expanduser().absolute()
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_LIMIT:
        raise ValueError(
            f"the path of the socket has {length} bytes, the system allows {SOCKET_PATH_LIMIT}; choose a shorter one"
        )
    return path
