"""Where an app finds its server and its options."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

from bench.records import BEGUN, ENDED, record

URL = os.environ.get("BENCH_URL", "redis://127.0.0.1:6379/0")
DATABASE = os.environ.get("DATABASE_URL", "")
OPTIONS: dict[str, Any] = json.loads(os.environ.get("BENCH_OPTIONS", "{}"))


async def sleep(number: int, seconds: float) -> None:
    """A slow coroutine."""
    record(number, kind=BEGUN)
    await asyncio.sleep(seconds)
    record(number, kind=ENDED)


def block(number: int, seconds: float) -> None:
    """A slow function."""
    record(number, kind=BEGUN)
    time.sleep(seconds)
    record(number, kind=ENDED)
