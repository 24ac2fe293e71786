"""Makes a scheduler and a storage that belong together, from settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import bindu.server.scheduler.factory as schedulers  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12
import bindu.server.storage.factory as storages  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12

from holdfast.bindu.held_tasks import HeldTasks
from holdfast.bindu.scheduler import HoldfastScheduler
from holdfast.bindu.storage import HoldfastStorage
from holdfast_config import ConfigError, Settings, load


class SchedulerAndStorage(NamedTuple):
    """Both share the list of tasks that the framework's workers in this process hold: use them as a pair."""

    scheduler: HoldfastScheduler
    storage: HoldfastStorage

    async def use(self, settings: Settings) -> None:
        """Use these settings instead, before the scheduler is entered."""
        _refuse_memory(settings)
        await self.storage.close()
        self.scheduler.use(settings)
        self.storage.use(settings)


def connect(
    settings: Settings | None = None,
    /,
    *,
    redis_url: str | None = None,
    queue_name: str | None = None,
    max_connections: int | None = None,
    consume: bool = False,
) -> SchedulerAndStorage:
    """A scheduler and a storage over one queue; nothing is connected before they are used.

    Without `settings` the keywords count, and below them the environment and files, as for `supervisor`: with no URL it
    is the store of the supervisor of this host. With `consume` the framework's own workers in this process take tasks
    from the queue, beside those of supervisors; else they take none. Raises ConfigError, which is a ValueError.
    """
    keywords = {"redis_url": redis_url, "queue_name": queue_name, "redis_max_connections": max_connections}
    if settings is None:
        settings = load(keywords, framework={})
    elif any(value is not None for value in keywords.values()):
        raise ConfigError(["connect takes settings or keywords, not both: put the keywords into the settings"])
    _refuse_memory(settings)
    held_tasks = HeldTasks()
    return SchedulerAndStorage(
        HoldfastScheduler(settings, held_tasks, consume=consume), HoldfastStorage(settings, held_tasks)
    )


def _refuse_memory(settings: Settings) -> None:
    if settings.scheduler_type == "memory":
        raise ConfigError(["scheduler_type: 'memory': is in one process; give a redis_url, or use the framework's own"])


def _block_of(config: object) -> Mapping[str, object]:
    """The `scheduler` block of the framework's configuration, without defaults. Redis without a server means the one at
    the usual address, like in the framework's own scheduler."""
    if not is_dataclass(config) or getattr(config, "type", None) != "redis":
        return {}
    values = {each.name: getattr(config, each.name) for each in fields(config)}
    block = {each.name: values[each.name] for each in fields(config) if values[each.name] != each.default}
    server = {} if block.get("redis_url") else {"redis_host": values["redis_host"]}
    return {**block, **server}


def install(
    settings: Settings | None = None,
    /,
    *,
    redis_url: str | None = None,
    queue_name: str | None = None,
    max_connections: int | None = None,
    consume: bool = False,
) -> SchedulerAndStorage:
    """Connect, and give this pair to applications that this process starts from now on: the framework has no other way
    to set them. Without `settings`, keywords, environment and files come first, then the `scheduler` block of the
    application's configuration. `memory` in that block is the framework's default and is ignored. Raises ConfigError.
    """
    pair = connect(
        settings, redis_url=redis_url, queue_name=queue_name, max_connections=max_connections, consume=consume
    )
    keywords = {"redis_url": redis_url, "queue_name": queue_name, "redis_max_connections": max_connections}

    async def create_scheduler(config: Any = None) -> HoldfastScheduler:
        block = _block_of(config)
        if settings is None and block and not pair.scheduler.is_open:
            await pair.use(load(keywords, framework={"scheduler": block}))
        return pair.scheduler

    async def create_storage(did: str | None = None) -> HoldfastStorage:
        return pair.storage

    schedulers.create_scheduler = create_scheduler
    storages.create_storage = create_storage
    return pair
