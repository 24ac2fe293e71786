"""Servers of each kind that a Redis can be reached through; each is made once for a module, queues keep tests apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.servers import has_tls, redis_server


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="holdfast-") as made:
        yield Path(made)


@pytest.fixture(scope="session")
def tls_server() -> Path:
    """A server program that speaks TLS; the bundled one does not."""
    found = redis_server()
    if found is None or not has_tls(found):
        pytest.skip("no redis-server with TLS, 7.0 or later, on PATH")
    return found
