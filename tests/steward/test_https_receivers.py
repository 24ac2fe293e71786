"""An HTTPS receiver of webhooks: the steward asks for the host's name and believes only the host's certificate."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
import pytest

from holdfast.core.webhook_notice import Notice
from holdfastd.steward import webhook_post
from holdfastd.steward.webhook_post import MissedError, Poster
from tests.certificates import Certificates, certificates
from tests.faults.webhooks import receiver

pytestmark = pytest.mark.anyio

HOST = "receiver.example"


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Certificates]:
    """The certificate of HOST; its authority is the one that this process trusts."""
    made = certificates(tmp_path, addresses=(), hosts=(HOST,))
    monkeypatch.setattr(certifi, "where", lambda: str(made.authority))
    webhook_post._certificates.cache_clear()
    yield made
    webhook_post._certificates.cache_clear()


def here(_: str, port: int, **__: Any) -> list[tuple[Any, ...]]:
    """A name service that knows one address for every host."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


async def test_the_receiver_is_asked_for_by_its_name_and_no_other_host_may_answer(trusted: Certificates) -> None:
    names: list[str | None] = []
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(trusted.certificate, trusted.key)
    tls.sni_callback = lambda _, name, __: names.append(name)
    poster = Poster(None, allow_private=True, timeout=30, lookup=here)
    with receiver(tls=tls) as seen:
        port = urlsplit(seen.url).port
        await poster.post(_notice(f"https://{HOST}:{port}/told"), b"{}")
        assert names == [HOST]
        assert seen.requests.get()[0]["host"] == f"{HOST}:{port}"
        with pytest.raises(MissedError, match="certificate"):
            await poster.post(_notice(f"https://other.example:{port}/told"), b"{}")
        assert seen.requests.empty()


def _notice(url: str) -> Notice:
    return Notice("t|1|completed", "t", 1, "completed", url, 1, 1)
