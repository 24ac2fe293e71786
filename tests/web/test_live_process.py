"""Many listeners of a dashboard in a process of its own: what they cost, and how they end."""

from __future__ import annotations

import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from tests.servers import valkey
from tests.web.test_process import LOGIN, TOKEN, alone

CLIENTS = 1000
MOST_BYTES = 40_000  # of the process, for one idle client


@contextmanager
def many_files() -> Iterator[None]:
    """Room for the clients' sockets, or a skipped test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CLIENTS + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this process may open {hard} files, and {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted) if soft >= 0 else soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def listener(port: int) -> socket.socket:
    """A client of the stream of events whose answer has begun."""
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    head = f"GET /events/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    client.sendall(head.encode())
    read = b""
    while b"retry:" not in read:
        piece = client.recv(4096)
        assert piece, read
        read += piece
    assert read.startswith(b"HTTP/1.1 200")
    return client


def test_a_thousand_idle_clients_cost_little_and_end_with_the_process(short_path: Path) -> None:
    with many_files(), valkey(short_path) as url, alone(short_path, url, "0") as (process, address):
        port = int(address.rsplit(":", 1)[1].strip("/"))
        memory = psutil.Process(process.pid).memory_info
        with httpx.Client(base_url=address, headers=LOGIN, timeout=60) as browser:
            clients = [listener(port)]
            assert browser.get("/lanes").status_code == 200
            before = memory().rss
            try:
                clients += [listener(port) for _ in range(CLIENTS - 1)]
                each = (memory().rss - before) / CLIENTS
                assert browser.get("/lanes").status_code == 200
                assert each < MOST_BYTES, f"{each:.0f} bytes a client"
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
                for client in clients:
                    while client.recv(65536):
                        pass
            finally:
                for client in clients:
                    client.close()
