"""Children of a process whose memory was prepared copy few pages for what they make themselves."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from holdfast.store.redis import scripts
from holdfast.worker import prepared_store
from holdfast_config import Settings

# Every eighth block is free again. The child makes blocks of that size, and tells the KiB that it has copied or added.
PROGRAM = """
import ctypes, os, sys
from holdfastd.parent import memory_image

def own():
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

kept = [bytes(600) for _ in range(30_000)]
del kept[::8]
ctypes.CDLL(None).malloc_trim(0)
if sys.argv[1] == "prepared":
    memory_image.freeze()
reading, writing = os.pipe()
if not os.fork():
    before = own()
    made = [bytes(600) for _ in range(100)]
    os.write(writing, str(own() - before).encode())
    os._exit(0)
os.wait()
print(os.read(reading, 32).decode())
"""


def grown(how: str) -> int:
    command = [sys.executable, "-c", PROGRAM, how]
    return int(subprocess.run(command, capture_output=True, check=True, text=True, timeout=60).stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library does not tell its free memory")
def test_a_child_puts_nothing_between_the_blocks_of_its_parent() -> None:
    assert grown("prepared") < grown("trimmed") / 2


def test_once_scripts_are_built_only_they_are_kept() -> None:
    scripts.SHIPPED.clear()
    assert scripts.product()["pull"].source
    assert [made.cache_info().currsize for made in (scripts.text, scripts._words, scripts._statements)] == [0, 0, 0]  # pyright: ignore[reportPrivateUsage]


def test_workers_use_the_store_that_was_made_before_the_fork() -> None:
    settings, others = (Settings(redis_url="redis://localhost:1/0") for _ in range(2))
    prepared_store.prepare(settings)
    prepared = prepared_store.store_of(settings)
    assert prepared_store.store_of(settings) is prepared
    assert prepared_store.store_of(others) is not prepared
