"""Telling one webhook: to an address that was looked at, signed, within a time, without following redirects."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import httpx

from holdfast.core.notices import VERSION, Notice, signed


class RefusedError(Exception):
    """This will never be told: trying again is of no use."""


class MissedError(Exception):
    """It could not be told now."""


@dataclass(frozen=True, slots=True)
class Poster:
    """`secret` signs, if there is one; `timeout` in seconds for the whole exchange."""

    secret: str | None
    allow_private: bool
    timeout: float

    async def post(self, notice: Notice, content: bytes) -> None:
        """Told and accepted (2xx), or MissedError, or RefusedError."""
        url = httpx.URL(notice.url)
        try:
            with anyio.fail_after(self.timeout):
                address = await self._address(url)
                status = await self._send(url, address, notice, content)
        except TimeoutError:
            raise MissedError(f"no answer within {self.timeout:g} s") from None
        except (httpx.HTTPError, OSError) as error:
            raise MissedError(f"{type(error).__name__}: {error}") from None
        if not 200 <= status < 300:
            raise MissedError(f"answered {status}")

    async def _address(self, url: httpx.URL) -> str:
        """One address of the host; all of them are looked at, and the one that was looked at is connected to."""
        port = url.port or (443 if url.scheme == "https" else 80)
        found = await anyio.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        if not self.allow_private and (private := _private(addresses)):
            raise RefusedError(f"{url.host} is {private}, no public address; webhook_allow_private lets it through")
        return addresses[0]

    async def _send(self, url: httpx.URL, address: str, notice: Notice, content: bytes) -> int:
        headers = {"Host": url.netloc.decode(), **self._headers(notice, content)}
        there = url.copy_with(host=address, username=None, password=None)
        async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=self.timeout) as client:
            request = client.build_request(
                "POST", there, content=content, headers=headers, extensions={"sni_hostname": url.host}
            )
            answer = await client.send(request, stream=True)  # what it says is not read: its status is all we want
            await answer.aclose()
            return answer.status_code

    def _headers(self, notice: Notice, content: bytes) -> dict[str, str]:
        now = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "holdfast",
            "Webhook-Id": notice.public_id,
            "Webhook-Timestamp": str(now),
        }
        if self.secret is not None:
            text = signed(notice.public_id, now, content)
            digest = hmac.digest(self.secret.encode(), text, hashlib.sha256)
            headers["Webhook-Signature"] = f"{VERSION},{base64.b64encode(digest).decode()}"
        return headers


def _private(addresses: Sequence[str]) -> str:
    return next((one for one in addresses if not ipaddress.ip_address(one.partition("%")[0]).is_global), "")
