"""Delivers one webhook notice with a signed POST, within a timeout. It connects only to an IP address that it has
checked, and follows no redirects.
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
from holdfast.store import Store
from holdfast_config import addresses
from holdfast_config.addresses import WebhookUrl
from holdfast_config.values import STANDARD_PREFIX
from holdfastd.a2a import wire_0_3, wire_1_0
from holdfastd.a2a.agent_task import AgentTask, PushTarget, read_targets
from holdfastd.a2a.agent_task_view import task_view
from holdfastd.steward.public_addresses import is_public
from holdfastd.steward.receivers import ReceiverPlace, Receivers


class RefusedError(Exception):
    """This notice cannot be delivered, and a retry is of no use."""


class MissedError(Exception):
    """This attempt has failed; a later one may succeed."""


@dataclass(frozen=True, slots=True)
class Poster:
    """Posts notices. `secret`: the key that signs them; None: no signature. `timeout`: seconds for lookup, request and
    answer together. `lookup`: resolves a host's name like `socket.getaddrinfo`, and may block for long."""

    secret: str | None
    allow_private: bool
    timeout: float
    lookup: Callable[..., Any] = socket.getaddrinfo

    async def post(self, notice: Notice, content: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        """Post the notice with these additional headers. Returns when the receiver has answered 2xx. Raises
        MissedError, RefusedError, or ValueError if the notice's URL or content is invalid."""
        url = addresses.parse_webhook(notice.url)
        try:
            with anyio.fail_after(self.timeout):
                address = await self._address(url)
                status = await self._send(url, address, content, {**self._headers(notice, content), **headers})
        except TimeoutError:
            raise MissedError(f"no answer within {self.timeout:g} s") from None
        except socket.gaierror:
            raise MissedError(f"no address of {url.host} was found") from None
        except (httpx.HTTPError, OSError) as error:
            raise MissedError(f"{type(error).__name__}: {error}") from None
        if not 200 <= status < 300:
            raise MissedError(f"the receiver answered {status}")

    async def _address(self, url: WebhookUrl) -> str:
        """The first IP address of the notice's host; the request goes to this address. Raises RefusedError if any
        address of the host is not public and private addresses are not allowed."""
        port = url.port or (443 if url.scheme == "https" else 80)
        look = partial(self.lookup, url.host, port, type=socket.SOCK_STREAM)
        # A lookup has a thread of its own: some name servers never answer, and the event loop has few threads.
        entries = await anyio.to_thread.run_sync(look, abandon_on_cancel=True, limiter=_lookups())
        addresses = [str(entry[4][0]) for entry in entries]
        private = [address for address in addresses if not is_public(address)]
        if private and not self.allow_private:
            raise RefusedError(
                f"{url.host} has the address {private[0]}, which is no public address: webhook_allow_private allows it"
            )
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
            answer = await client.send(request, stream=True)  # not read: only the status of the answer is used
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
    """A limiter that sets no limit to the threads for name lookups. Each webhook notice under way uses at most one, and
    the number of notices under way is limited."""
    return anyio.CapacityLimiter(math.inf)


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates. They are read only once, because reading takes longer than a post."""
    return httpx.create_ssl_context(trust_env=False)


def _signer(secret: str) -> Webhook:
    """The signer for this secret. After the prefix `whsec_` the key is base64, which the library decodes; a secret
    without the prefix is the key itself."""
    return Webhook(secret if secret.startswith(STANDARD_PREFIX) else secret.encode())


# Delivers a notice to all its receivers: the webhook, and the push addresses that A2A clients have set for the task. An
# A2A client gets the task in its version of the protocol.

_Post = tuple[Notice, bytes, dict[str, str]]


class BusyError(Exception):
    """A receiver has no free place for this notice now; nothing was posted."""


@dataclass(frozen=True, slots=True)
class NoticeDelivery:
    """The delivery of one notice. `place`: the place that the notice has at its own receiver. `failed`: the errors of
    its posts. `answers`: each receiver with the seconds that it took; None if it missed the notice."""

    store: Store
    poster: Poster
    receivers: Receivers
    place: ReceiverPlace
    failed: list[MissedError | RefusedError] = field(default_factory=list[MissedError | RefusedError])
    answers: list[tuple[str, float | None]] = field(default_factory=list[tuple[str, float | None]])

    async def deliver(self, notice: Notice) -> None:
        """Post the notice to all receivers at once. If one missed it, raises MissedError, and the caller tries all of
        them again. Otherwise raises RefusedError if a post was refused. If a receiver has no free place, raises
        BusyError and posts nothing."""
        record = await self.store.get(notice.task_id)
        if notice.state == State.WORKING and (not record or record.state is not State.WORKING):
            return  # the task has changed since; a later notice tells its state
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
        except ValueError as error:  # the notice's URL is invalid
            self.failed.append(RefusedError(str(error)))
        else:
            self.answers.append((notice.receiver, time.monotonic() - began))


def _content(target: PushTarget, task: AgentTask) -> bytes:
    """The body of a post to an A2A client: the task as it is now, in the form of an item of an A2A stream."""
    return msgspec.json.encode((wire_1_0 if target.version == "1.0" else wire_0_3).told(task))
