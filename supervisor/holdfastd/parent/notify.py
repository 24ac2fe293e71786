"""systemd's notification protocol by hand: a datagram of VARIABLE=value lines; silence where nobody listens."""

from __future__ import annotations

import contextlib
import os
import socket

from holdfast_config import environment


class Notifier:
    """Sends what has changed; a full or missing socket loses a message, never blocks or fails."""

    def __init__(self) -> None:
        address = environment.notify_socket()
        self._address = None if address is None else address.replace("@", "\0", 1) if address[0] == "@" else address
        self._socket = None if address is None else _datagrams()
        usec = environment.watchdog_usec()
        self.watchdog = None if usec is None else usec / 1e6
        """Seconds after which systemd takes a silent parent for hung, or None."""

    def tell(self, **variables: object) -> None:
        """Send these variables in one message."""
        if self._socket is None or self._address is None:
            return
        message = "\n".join(f"{name}={value}" for name, value in variables.items())
        with contextlib.suppress(OSError):
            self._socket.sendto(message.encode(), self._address)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _datagrams() -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    channel.setblocking(False)
    os.set_inheritable(channel.fileno(), False)
    return channel
