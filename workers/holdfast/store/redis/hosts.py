"""The Redis calls about hosts that claim nothing (quiet hosts and halts), and about handlers that workers publish."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.published_handlers import KeptHandler, PublishedHandler, read_kept, read_published, spelled
from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, QuietOrder, halt_mark, halted_host
from holdfast.store.redis.connection import RedisPart
from holdfast.store.redis.decode import pairs


class RedisHosts(RedisPart):
    """The calls about hosts whose workers claim no tasks, and about handlers. Workers publish their handlers, so that
    others know how to submit tasks to them."""

    async def quiet_host(self, host: str, by: str, reason: str) -> QuietOrder:
        """Make a host quiet (ALL_HOSTS: all hosts): until it is resumed, its workers claim no tasks, including workers
        that start later."""
        word, workers = await self._change_setting("quiet_host", host, _line(by), _line(reason))
        return QuietOrder(word == b"quiet", workers)

    async def resume_host(self, host: str, by: str) -> QuietOrder:
        """End the order of `quiet_host`. If there is an order for all hosts and another one for this host, each must be
        ended by its own call."""
        word, workers = await self._change_setting("resume_host", host, _line(by))
        return QuietOrder(word == b"resumed", workers)

    async def halt_host(self, host: str, by: str, reason: str) -> QuietOrder:
        """Halt a host (ALL_HOSTS: all hosts): until the halt is ended, its workers claim no tasks, and its schedules
        create none.

        A process that must end at a halt, such as `supervisor work`, ends now if it was started before this halt. Each
        halt is a new order. Raises ValueError if `host` or `by` is empty. The store keeps a halt like a quiet host,
        under a name that no host has.
        """
        if not host.strip() or not by.strip():
            raise ValueError(f"halt of host {host!r} by {by!r}: neither may be empty; host may be * for all hosts")
        _, workers = await self._change_setting("quiet_host", halt_mark(host), _line(by), _line(reason))
        return QuietOrder(is_new=True, workers=workers)

    async def end_halt(self, host: str, by: str) -> QuietOrder:
        """End only the halt of a host. A host that is also quiet stays quiet."""
        word, workers = await self._change_setting("resume_host", halt_mark(host), _line(by))
        return QuietOrder(word == b"resumed", workers)

    async def quiet_hosts(self) -> tuple[Quiet, ...]:
        """The orders by which hosts claim no tasks: first quiet hosts, then halts. Within both kinds, an order for all
        hosts comes first."""
        marks = pairs(await self._command("HGETALL", self._keys["quiet"]))
        quiet = [_quiet(mark, text.decode(errors="replace")) for mark, text in marks]
        return tuple(sorted(quiet, key=lambda one: (one.is_halt, not one.is_all, one.host)))

    async def last_halt(self, host: str) -> int:
        """The number of the last halt of this host or of all hosts, ended or not; 0: there was none."""
        marks = halt_mark(ALL_HOSTS), halt_mark(host)
        lasting = await self._command("HMGET", self._keys["quiet"], *marks)
        ended = await self._command("HMGET", self._keys["meta"], *marks)
        return max((int(text.split(b"\n", 1)[0]) for text in (*lasting, *ended) if text), default=0)

    async def publish_handlers(self, handlers: Sequence[PublishedHandler]) -> None:
        """Keep these handlers, by name. When a worker comes or goes, the store forgets handlers that no live worker
        has."""
        if not handlers:
            return
        before = await self._command("HMGET", self._keys["published"], *(handler.name for handler in handlers))
        texts = [spelled(handler, text) for handler, text in zip(handlers, before, strict=True)]
        fields = [part for handler, text in zip(handlers, texts, strict=True) for part in (handler.name, text)]
        await self._command("HSET", self._keys["published"], *fields)

    async def published_handler(self, name: str) -> PublishedHandler | None:
        """The handler of this name as a worker published it last; '' names the handler of tasks that name none. None if
        there is no such handler."""
        text = await self._command("HGET", self._keys["published"], name)
        return None if text is None else read_published(text)

    async def kept_handler(self, name: str) -> KeptHandler | None:
        """The handler of this name as a worker published it last, together with earlier schemas of its arguments. None
        if there is no such handler."""
        text = await self._command("HGET", self._keys["published"], name)
        return None if text is None else read_kept(text)

    async def published_handlers(self) -> tuple[PublishedHandler, ...]:
        """All published handlers, in the order of their names."""
        found = pairs(await self._command("HGETALL", self._keys["published"]))
        read = [handler for _, text in found if (handler := read_published(text))]
        return tuple(sorted(read, key=lambda handler: handler.name))


def _quiet(mark: str, text: str) -> Quiet:
    since, by, reason = text.split("\n", 2)
    host = halted_host(mark)
    return Quiet(mark if host is None else host, int(since), by, reason, is_halt=host is not None)


def _line(text: str) -> str:
    return " ".join(text.split())
