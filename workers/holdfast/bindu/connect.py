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
    """A scheduler and the storage that belongs to it. They share the list of tasks that the framework's workers in this
    process hold, so use both or none."""

    scheduler: HoldfastScheduler
    storage: HoldfastStorage

    async def use(self, settings: Settings) -> None:
        """Replace the settings of both. Call this before the scheduler is entered."""
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
    """Make a scheduler and a storage over one queue. They connect when they are first used.

    Without `settings` the keywords count, then the environment and files, like for the command `supervisor`. If no URL
    is given, the pair uses the store of the supervisor on this host. With `consume` the framework's own workers in this
    process also take tasks from the queue; otherwise only workers of supervisors do. Raises ConfigError, which is a
    ValueError.
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
        raise ConfigError(
            [
                "scheduler_type: 'memory': no other process could reach these tasks; give a redis_url, or use the "
                "framework's own scheduler and storage"
            ]
        )


def _block_of(config: object) -> Mapping[str, object]:
    """The `scheduler` block of the framework's configuration, without values equal to their defaults. If the block
    names no server, `redis_host` is kept, so that its default counts like in the framework's own scheduler."""
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
    """Connect, and replace the framework's functions that make a scheduler and a storage. Applications that this
    process starts from now on get this pair. Without `settings`, keywords, environment and files come first, then the
    `scheduler` block of the application's configuration. `memory` in this block is the framework's default and is
    ignored. Raises ConfigError.
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
