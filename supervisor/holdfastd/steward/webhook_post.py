"""Delivers one webhook notice: to an address that was checked, signed, within a timeout, without following
redirects."""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import anyio
import anyio.to_thread
import httpx
from standardwebhooks import Webhook

from holdfast.core.webhook_notice import Notice
from holdfast_config import webhook_url
from holdfast_config.values import STANDARD_PREFIX
from holdfast_config.webhook_url import WebhookUrl
from holdfastd.steward.public_addresses import is_public


class RefusedError(Exception):
    """This notice cannot be delivered, and a retry is of no use."""


class MissedError(Exception):
    """This attempt has failed; a later one may succeed."""


@dataclass(frozen=True, slots=True)
class Poster:
    """`secret` signs the notice, if set; `timeout` in seconds for the whole exchange. `lookup` blocks until a name
    server answers."""

    secret: str | None
    allow_private: bool
    timeout: float
    lookup: Callable[..., Any] = socket.getaddrinfo

    async def post(self, notice: Notice, content: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        """Deliver the notice, with these headers as well: the receiver has answered 2xx. Raises MissedError,
        RefusedError, or ValueError where its URL or content is invalid."""
        url = webhook_url.parse(notice.url)
        try:
            with anyio.fail_after(self.timeout):
                address = await self._address(url)
                status = await self._send(url, address, content, {**self._headers(notice, content), **headers})
        except TimeoutError:
            raise MissedError(f"no answer within {self.timeout:g} s") from None
        except (httpx.HTTPError, OSError) as error:
            raise MissedError(f"{type(error).__name__}: {error}") from None
        if not 200 <= status < 300:
            raise MissedError(f"answered {status}")

    async def _address(self, url: WebhookUrl) -> str:
        """An address of the host. All its addresses are checked, and the connection goes to the one that was
        checked."""
        port = url.port or (443 if url.scheme == "https" else 80)
        look = partial(self.lookup, url.host, port, type=socket.SOCK_STREAM)
        # Each in a thread of its own: the event loop has four for all names, and some name servers never answer.
        entries = await anyio.to_thread.run_sync(look, abandon_on_cancel=True, limiter=_lookups())
        addresses = [str(entry[4][0]) for entry in entries]
        private = [address for address in addresses if not is_public(address)]
        if private and not self.allow_private:
            raise RefusedError(f"{url.host} is {private[0]}, no public address; webhook_allow_private lets it through")
        return addresses[0]

    async def _send(self, url: WebhookUrl, address: str, content: bytes, headers: Mapping[str, str]) -> int:
        there = httpx.URL(scheme=url.scheme, host=address, port=url.port, raw_path=url.target.encode())
        async with httpx.AsyncClient(
            trust_env=False, follow_redirects=False, timeout=self.timeout, verify=_certificates()
        ) as client:
            request = client.build_request(
                "POST",
                there,
                content=content,
                headers={"Host": url.authority, **headers},
                extensions={"sni_hostname": url.host},
            )
            answer = await client.send(request, stream=True)  # only the status is used, the body is not read
            await answer.aclose()
            return answer.status_code

    def _headers(self, notice: Notice, content: bytes) -> dict[str, str]:
        now = datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "holdfast",
            "Webhook-Id": notice.public_id,
            "Webhook-Timestamp": str(int(now.timestamp())),
        }
        if self.secret is not None:
            headers["Webhook-Signature"] = _signer(self.secret).sign(notice.public_id, now, content.decode())
        return headers


@cache
def _lookups() -> anyio.CapacityLimiter:
    """No bound beyond that of the notices under way."""
    return anyio.CapacityLimiter(math.inf)


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: that takes longer than a post."""
    return httpx.create_ssl_context(trust_env=False)


def _signer(secret: str) -> Webhook:
    """The library decodes a text as base64; a secret without its prefix is the key as it is."""
    return Webhook(secret if secret.startswith(STANDARD_PREFIX) else secret.encode())
