"""Acts on hosts: order a host to claim no more tasks, and end such an order."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.core.plain_json import shown
from holdfast.core.quiet_hosts import ALL_HOSTS, QuietOrder
from holdfast.store import Store
from holdfastd.documents.queue_documents import EndedOrderDocument, OrderDocument, ended_order_document, order_document
from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.known import Create
from holdfastd.operations.reading import InvalidArgumentError

LONGEST_NAME = 255

# None stands inside Annotated, so the text `none` is the name of a host, and never means all hosts.
Host = Annotated[str | None, Meta(description="Name of the host. Default: all hosts.")]


class OrderHosts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The host that is to claim no more tasks, and why. Null: all hosts."""

    host: Host = None
    reason: Reason = ""
    create: Create = False


class ReleaseHosts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The host that is to claim tasks again. Null ends the order to all hosts; an order to one host by its name
    remains."""

    host: Host = None


async def quiet_hosts(doing: Doing, given: OrderHosts) -> OrderDocument:
    """Let all hosts of this queue, or one host, claim no more tasks until they are resumed.

    Running tasks finish. New tasks are accepted and wait, and schedules still fire. A supervisor that starts in the
    meantime is quiet as well.
    """
    return await _order(doing, given, "quiet", doing.store.quiet_host)


async def resume_hosts(doing: Doing, given: ReleaseHosts) -> EndedOrderDocument:
    """Let all hosts of this queue, or one host, claim tasks again.

    A host that was made quiet by its name stays quiet until it is resumed by its name. A halt also stays, until
    `supervisor control RESUME`.
    """
    return await _release(doing, given, "resumed", doing.store.resume_host)


async def halt_hosts(doing: Doing, given: OrderHosts) -> OrderDocument:
    """End all `work` and `dispatch` processes of all hosts, or of one, once they have finished their running tasks."""
    return await _order(doing, given, "halt", doing.store.halt_host)


async def end_halt(doing: Doing, given: ReleaseHosts) -> EndedOrderDocument:
    """End the halt of all hosts, or of one. A host that is quiet as well stays quiet."""
    return await _release(doing, given, "halt ended", doing.store.end_halt)


async def _order(
    doing: Doing, given: OrderHosts, word: str, order: Callable[[str, str, str], Awaitable[QuietOrder]]
) -> OrderDocument:
    host = await _known_host(doing, given)
    reason = doing.reason("ordered", given.reason)
    return order_document(host, word, await doing.call(order, host, doing.operator.by, reason))


async def _release(
    doing: Doing, given: ReleaseHosts, word: str, end: Callable[[str, str], Awaitable[QuietOrder]]
) -> EndedOrderDocument:
    """End a quiet or halt order. The answer lists the orders that remain, because each of them still stops claims."""
    host = await _known_host(doing, given)
    order = await doing.call(end, host, doing.operator.by)
    return ended_order_document(host, word, order, await doing.call(doing.store.quiet_hosts))


async def _known_host(doing: Doing, given: OrderHosts | ReleaseHosts) -> str:
    """The host's name in the store and in Activity; None gives the name for all hosts. Raises InvalidArgumentError,
    UnknownNameError."""
    name = given.host
    if name is None:
        doing.asked.subject = ALL_HOSTS
        return ALL_HOSTS
    if name == ALL_HOSTS or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or " " in name:
        raise InvalidArgumentError(f"host: {shown(name)} is not the name of a host; leave it out for all hosts", "host")
    await doing.check_known("host", name, given, _known_hosts, doing.store)
    return name


async def _known_hosts(store: Store) -> set[str]:
    """The hosts with workers, hosts with an order, and this host, which may run only `dispatch`."""
    ordered = {each.host for each in await store.quiet_hosts() if not each.is_all}
    return {socket.gethostname(), *ordered, *(worker.host for worker in await store.workers())}


QUIET_HOSTS = Act("hosts/quiet", OrderHosts, quiet_hosts, "host")
RESUME_HOSTS = Act("hosts/resume", ReleaseHosts, resume_hosts, "host")
HALT_HOSTS = Act("hosts/halt", OrderHosts, halt_hosts, "host")
END_HALT = Act("hosts/end-halt", ReleaseHosts, end_halt, "host")
