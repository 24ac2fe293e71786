"""Operations on workers and hosts."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_reason
from holdfast.core.plain_json import shown
from holdfast.core.quiet_hosts import ALL_HOSTS
from holdfast.errors import InvalidTaskError
from holdfastd.documents.host_documents import (
    OrderDocument,
    QuietDocument,
    WorkerDocument,
    order_document,
    quiet_documents,
    worker_document,
)
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Reason

LONGEST = 255
Host = Annotated[
    str | None,
    Meta(description="Name of the host; null: all hosts. A host that is quiet by its name is resumed by its name."),
]


class WorkerList(TypedDict):
    workers: list[WorkerDocument]


class HostList(TypedDict):
    """The hosts that have live workers, with their number; `quiet`: the orders to claim nothing."""

    hosts: dict[str, int]
    quiet: list[QuietDocument]


class QuietRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The host that is to claim no more tasks."""

    host: Host = None
    reason: Reason = ""


class HostRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The host that is to claim tasks again."""

    host: Host = None


async def list_workers(call: ApiCall) -> WorkerList:
    """List the workers of all hosts, with those that have died within a day."""
    return {"workers": [worker_document(worker) for worker in await call.manager.workers()]}


async def list_hosts(call: ApiCall) -> HostList:
    """List the hosts of the queue, and the orders to claim nothing."""
    hosts = dict[str, int]()
    for worker in await call.manager.workers():
        if worker.state != "dead":
            hosts[worker.host] = hosts.get(worker.host, 0) + 1
    return {"hosts": hosts, "quiet": quiet_documents(await call.store.quiet_hosts())}


async def quiet_hosts(call: ApiCall, body: QuietRequest) -> OrderDocument:
    """Let all hosts, or one host, claim no more tasks until they are resumed. Running tasks finish."""
    host = call.asked.subject = _known(body.host)
    reason = check_reason(call.reason("ordered", body.reason))
    return order_document(host, "quiet", await call.store.quiet_host(host, call.who, reason))


async def resume_hosts(call: ApiCall, body: HostRequest) -> OrderDocument:
    """Let all hosts, or one host, claim tasks again."""
    host = call.asked.subject = _known(body.host)
    return order_document(host, "resumed", await call.store.resume_host(host, call.who))


def _known(host: str | None) -> str:
    if host is None:
        return ALL_HOSTS
    if host == ALL_HOSTS or not 1 <= len(host) <= LONGEST or not host.isprintable() or " " in host:
        raise InvalidTaskError(f"host {shown(host)}: the name of a host is expected, or null for all hosts")
    return host


HOSTS = (
    ApiOperation("GET", "/workers", list_workers),
    ApiOperation("GET", "/hosts", list_hosts),
    ApiOperation("POST", "/hosts/quiet", quiet_hosts, "hosts/quiet"),
    ApiOperation("POST", "/hosts/resume", resume_hosts, "hosts/resume"),
)
