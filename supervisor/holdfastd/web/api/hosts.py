"""Operations on workers and hosts."""

from __future__ import annotations

from typing import TypedDict

from holdfastd.documents.queue_documents import QuietDocument, WorkerDocument, quiet_documents, worker_document
from holdfastd.operations.hosts import QUIET_HOSTS, RESUME_HOSTS
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation


class WorkerList(TypedDict):
    workers: list[WorkerDocument]


class HostList(TypedDict):
    """The hosts that have live workers, with their number; `quiet`: the orders to claim nothing."""

    hosts: dict[str, int]
    quiet: list[QuietDocument]


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


HOSTS = (
    ApiOperation("GET", "/workers", list_workers),
    ApiOperation("GET", "/hosts", list_hosts),
    route("POST", "/hosts/quiet", QUIET_HOSTS),
    route("POST", "/hosts/resume", RESUME_HOSTS),
)
