"""A TCP server for handlers to speak to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def greeting() -> Iterator[int]:
    """The port of somebody who says hello once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def greet() -> None:
            with server.accept()[0] as stream:
                stream.sendall(b"hello")

        thread = threading.Thread(target=greet)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
