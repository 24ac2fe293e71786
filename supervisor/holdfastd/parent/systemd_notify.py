"""Implements systemd's notification protocol: datagrams of VARIABLE=value lines. Without NOTIFY_SOCKET nothing is
sent."""

from __future__ import annotations

import os
import socket

from holdfast_config import environment

LONGEST = 1024  # characters of one value


class Notifier:
    """Sends state changes to systemd without blocking."""

    def __init__(self) -> None:
        address = environment.notify_socket()
        self._address = None if address is None else address.replace("@", "\0", 1) if address[0] == "@" else address
        self._socket = None if address is None else _datagrams()
        usec = environment.watchdog_usec()
        self.watchdog = None if usec is None else usec / 1e6
        """Seconds of silence after which systemd considers the parent hung; None if systemd has no watchdog for it."""

    def send(self, **variables: object) -> bool:
        """Send these variables in one message. False if systemd did not receive it and a retry makes sense."""
        if self._socket is None or self._address is None:
            return True
        message = "\n".join(f"{name}={_line(value)}" for name, value in variables.items())
        try:
            self._socket.sendto(message.encode(errors="backslashreplace"), self._address)
        except OSError:
            return False
        return True

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _line(value: object) -> str:
    """The value in one line. A line break, for example in a handler's error, would start another variable."""
    return " ".join(str(value).split())[:LONGEST]


def _datagrams() -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    channel.setblocking(False)
    os.set_inheritable(channel.fileno(), False)
    return channel
