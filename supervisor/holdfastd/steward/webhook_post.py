"""Delivers one webhook notice: to an address that was checked, signed, within a timeout, without following
redirects.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from types import MappingProxyType
from typing import Any

import anyio
import anyio.to_thread
import httpx
import msgspec
from standardwebhooks import Webhook

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.webhook_notice import Notice, body, receiver_of
from holdfast.store.protocol import Store
from holdfast_config import addresses
from holdfast_config.addresses import WebhookUrl
from holdfast_config.values import STANDARD_PREFIX
from holdfastd.a2a import wire_0_3, wire_1_0
from holdfastd.a2a.agent_task import AgentTask
from holdfastd.a2a.push_target import PushTarget, read_targets
from holdfastd.a2a.task_view import task_view
from holdfastd.steward.receivers import Place, Receivers

# Public addresses: the only ones that a webhook may reach. Any other address leads into a private network.
#
# The list is our own, from the registries of special addresses (RFC 6890 and its updates). `ipaddress.is_global` of the
# standard library differs between versions of Python: several call all of 192.0.0.0/24 public.

_NAT64 = IPv6Network("64:ff9b::/96")  # a translator sends to the IPv4 address in its last 32 bits
_LAST = 0xFFFFFFFF  # these bits
_ISATAP = 0x5EFE  # the 32 bits before them: RFC 5214, where a router of any network sends to that IPv4 address
_ISATAP_BITS = 0xFCFFFFFF  # of these 32 that count: the other two may be set or not
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # all that is assigned: not IPv4-compatible, site-local, multicast …
_SPECIAL_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host below a machine of Azure
        "169.254.0.0/16",  # link-local, which has metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a metadata service
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the broadcast address
    )
)
_SPECIAL_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments; Teredo among them, which holds any IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which holds any IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """True for a public `address`, as a resolver writes it; its zone is ignored. One of IPv6 that leads to an address
    of IPv4 is judged by that one, too."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    inner = _embedded(parsed)
    if inner is not None and not _is_public_v4(inner):
        return False
    return _only_embeds(parsed) or _is_public_v6(parsed)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which this IPv6 address leads. Other forms that hold one (compatible, translated, 6to4,
    Teredo, a local NAT64) are in no public network, whatever they hold."""
    is_isatap = int(address) >> 32 & _ISATAP_BITS == _ISATAP
    return IPv4Address(int(address) & _LAST) if is_isatap or _only_embeds(address) else None


def _only_embeds(address: IPv6Address) -> bool:
    """True if its network says nothing: packets go to the IPv4 address that it holds."""
    return address in _NAT64 or address.ipv4_mapped is not None


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _SPECIAL_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    return address in _GLOBAL_UNICAST and not any(address in network for network in _SPECIAL_V6)


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
        url = addresses.parse_webhook(notice.url)
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


# Delivers a notice to all that are told of its task: the webhook, and clients of the agent in their own words.

_Post = tuple[Notice, bytes, dict[str, str]]


class BusyError(Exception):
    """A receiver has no place for this notice now; nothing was posted."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of one notice, which has this place."""

    store: Store
    poster: Poster
    receivers: Receivers
    place: Place
    failed: list[MissedError | RefusedError] = field(default_factory=list[MissedError | RefusedError])
    answers: list[tuple[str, float | None]] = field(default_factory=list[tuple[str, float | None]])

    async def deliver(self, notice: Notice) -> None:
        """All are tried at once; then MissedError is raised if one has missed it, so that all are tried again, or
        RefusedError. BusyError, and none is tried, if one of them has no place."""
        record = await self.store.get(notice.task_id)
        if notice.state == State.WORKING and (not record or record.state is not State.WORKING):
            return  # a later notice says what came of it
        posts = await self._posts(notice, record)
        others = [each for each, _, _ in posts if each.receiver != notice.receiver]
        if not self.receivers.add(self.place, (each.receiver for each in others)):
            raise BusyError
        async with anyio.create_task_group() as group:
            for post in posts:
                group.start_soon(self._try, *post)
        for receiver, seconds in self.answers:
            await self.receivers.note(receiver, seconds)
        for error in sorted(self.failed, key=lambda error: isinstance(error, RefusedError)):
            raise error

    async def _posts(self, notice: Notice, record: TaskRecord | None) -> list[_Post]:
        targets = read_targets(await self.store.push(notice.task_id)) if record else []
        posts: list[_Post] = []
        if notice.state != State.WORKING and notice.url not in {target.url for target in targets}:
            posts.append((notice, body(notice, record), {}))
        if record and targets:
            task = task_view(record, await self.store.about(notice.task_id))
            posts += [
                (replace(notice, url=each.url, receiver=receiver_of(each.url)), _content(each, task), each.headers)
                for each in targets
            ]
        return posts

    async def _try(self, notice: Notice, content: bytes, headers: dict[str, str]) -> None:
        began = time.monotonic()
        try:
            with self.receivers.post(self.place, notice.receiver):
                await self.poster.post(notice, content, headers)
        except MissedError as error:
            self.failed.append(error)
            self.answers.append((notice.receiver, None))
        except RefusedError as error:
            self.failed.append(error)
        except ValueError as error:  # its URL is none
            self.failed.append(RefusedError(str(error)))
        else:
            self.answers.append((notice.receiver, time.monotonic() - began))


def _content(target: PushTarget, task: AgentTask) -> bytes:
    """As an item of a stream: the task as it is."""
    return msgspec.json.encode((wire_1_0 if target.version == "1.0" else wire_0_3).told(task))
