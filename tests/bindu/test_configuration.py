"""The `scheduler` block of an application's configuration counts where neither argument nor environment says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

import bindu.server.scheduler.factory as schedulers
import bindu.server.storage.factory as storages
from bindu.common.models import SchedulerConfig
from bindu.utils.config.env_loader import create_scheduler_config_from_env

from holdfast.bindu import SchedulerAndStorage, connect, install
from holdfast_config import ConfigError, RedisSettings
from tests.bindu.application import Messages, manifest_of, serving

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def factories(monkeypatch: pytest.MonkeyPatch, short_path: Path) -> Iterator[None]:
    """The functions that `install` has replaced are put back; no store is named, and no supervisor runs."""
    before = schedulers.create_scheduler, storages.create_storage
    monkeypatch.chdir(short_path)
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(short_path / "run"))
    yield
    schedulers.create_scheduler, storages.create_storage = before


def never(messages: Messages) -> str:
    raise AssertionError("the framework's worker ran this")


async def test_the_block_names_the_store_and_the_queue(redis_settings: RedisSettings, short_path: Path) -> None:
    pair = install()
    config = SchedulerConfig(type="redis", redis_url=redis_settings.url, queue_name=redis_settings.queue)
    async with serving(manifest_of(never, short_path), config) as client:
        sent = await client.send("hello", context_id=str(uuid4()))
        assert sent["status"]["state"] == "submitted"
        assert await pair.scheduler.get_queue_length() == 1
    await pair.storage.close()


def configured(**scheduler: object) -> Any:
    """As `bindufy` makes it from the dict that it is given."""
    return create_scheduler_config_from_env({"scheduler": scheduler})


@pytest.mark.parametrize(
    ("config", "keywords", "environ", "url"),
    [
        (configured(type="redis", redis_url="redis://block/1"), {}, {}, "redis://block/1"),
        (configured(type="redis"), {}, {}, "redis://localhost:6379/0"),
        (configured(type="redis", redis_url="redis://b/1"), {}, {"REDIS_URL": "redis://e/2"}, "redis://e/2"),
        (configured(type="redis", redis_url="redis://b/1"), {}, {"REDIS_HOST": "e"}, "redis://e:6379/0"),
        (configured(type="redis"), {}, {"REDIS_URL": "redis://e/2"}, "redis://e/2"),
        (configured(type="redis", redis_url="redis://b/1"), {"redis_url": "redis://k/3"}, {}, "redis://k/3"),
        (SchedulerConfig(type="redis", redis_host="b", redis_port=1, redis_db=2), {}, {}, "redis://b:1/2"),
        (configured(type="memory"), {}, {"REDIS_URL": "redis://e/2"}, "redis://e/2"),
    ],
)
async def test_what_is_stronger_counts(
    monkeypatch: pytest.MonkeyPatch, config: Any, keywords: dict[str, str], environ: dict[str, str], url: str
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    pair = install(**keywords)
    assert await schedulers.create_scheduler(config) is pair.scheduler
    assert pair.scheduler.store_url == pair.storage.store_url == url


async def test_memory_the_frameworks_default_says_nothing() -> None:
    pair = install()
    before = pair.scheduler.store_url
    await schedulers.create_scheduler(configured(type="memory"))
    assert pair.scheduler.store_url == before
    assert before.startswith("unix://")


@pytest.mark.parametrize("url", ["", "redis://e/2"])
@pytest.mark.parametrize("make", [connect, install])
def test_memory_in_a_found_file_says_nothing_either(
    monkeypatch: pytest.MonkeyPatch, short_path: Path, make: Callable[[], SchedulerAndStorage], url: str
) -> None:
    """As where the application's code says it: the environment counts, or the store of this host's supervisor."""
    config = {"scheduler": {"type": "memory", "redis_url": "redis://unused/1"}, "storage": {"type": "memory"}}
    (short_path / "agent_config.json").write_text(json.dumps(config))
    monkeypatch.setenv("REDIS_URL", url)
    pair = make()
    assert pair.scheduler.store_url == (url or f"unix://{short_path}/run/store.sock")


async def test_what_cannot_be_is_refused_with_its_key() -> None:
    install()
    with pytest.raises(ConfigError, match=r"scheduler\.redis_url \(in the application's configuration\): 'ftp://x'"):
        await schedulers.create_scheduler(configured(type="redis", redis_url="ftp://x"))
