"""config/alerts.yml speaks of keys that are there, by names that its exporter has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.servers import valkey

pytestmark = pytest.mark.anyio

ALERTS = (Path(__file__).parents[2] / "config/alerts.yml").read_text()
EXPRESSIONS = re.findall(r"^ +expr: (.+)$", ALERTS, re.MULTILINE)
METRICS = {"redis_up", "redis_memory_used_bytes", "redis_memory_max_bytes", "redis_key_size"}
SIZED = {"list": "LLEN", "zset": "ZCARD", "set": "SCARD", "hash": "HLEN"}  # what the exporter tells of a key's type


def test_each_alert_is_made_from_metrics_that_the_exporter_has() -> None:
    assert len(EXPRESSIONS) == ALERTS.count("- alert: ")
    words = set(re.findall(r"\b(redis_\w+)", " ".join(EXPRESSIONS)))
    assert words == METRICS


def test_what_has_to_be_told_is_told() -> None:
    assert "redis_up == 0" in EXPRESSIONS
    assert any(expression.endswith("> 0.8") and "memory" in expression for expression in EXPRESSIONS)


def test_the_exporter_is_asked_for_each_key_that_is_named() -> None:
    named = set(re.findall(r'key="([^"]+)"', " ".join(EXPRESSIONS)))
    [asked] = re.findall(r"--check-single-keys=(\S+)", ALERTS)
    assert set(asked.split(",")) == {f"db0={key}" for key in named}


async def test_each_key_that_is_named_holds_what_is_said_of_it(short_path: Path) -> None:
    with valkey(short_path) as url:
        space = Namespace(url, queue="bindu:tasks")
        await space.register("w")
        await space.submit("fails")
        [delivery] = await space.take("w")
        await space.settle("w", delivery, Settle.EXHAUSTED)
        await space.push(b"nonsense")
        await space.pull("w")
        await space.submit("waits", "waits too")
        sizes: dict[str, int] = {}
        for key in sorted(set(re.findall(r'key="([^"]+)"', ALERTS))):
            kind = str(await space.do("TYPE", key)).strip("b'")
            assert kind in SIZED, key
            sizes[key.removeprefix("{bindu:tasks}:")] = await space.do(SIZED[kind], key)
        assert sizes == {"bindu:tasks": 2, "workers": 1, "dead": 1, "unreadable": 1}
        await space.aclose()
