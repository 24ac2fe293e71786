"""Children share the memory of their parent: what they would make for themselves was made before the fork."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.errors import HandlerError
from holdfast.handler.handler import Handler
from holdfast.store.redis import scripts
from holdfast.worker import main
from holdfast_config import Settings


def test_once_scripts_are_built_only_they_are_kept() -> None:
    scripts.SHIPPED.clear()
    assert scripts.product()["pull"].source
    assert [made.cache_info().currsize for made in (scripts.text, scripts._words, scripts._statements)] == [0, 0, 0]  # pyright: ignore[reportPrivateUsage]


def test_workers_use_the_handler_and_the_store_that_were_made_before_the_fork() -> None:
    settings, others = (Settings(redis_url="redis://localhost:1/0") for _ in range(2))
    handler = Handler("app:handler")
    main.prepare(settings, handler)
    prepared = main.of_worker(settings)
    assert prepared[0] is handler
    assert main.of_worker(settings)[1] is prepared[1]
    with pytest.raises(HandlerError):
        main.of_worker(others)


def test_what_a_child_makes_follows_one_another_in_memory() -> None:
    code = """
import ctypes
from holdfastd.parent import preload
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
objects, blocks = [bytes(100) for _ in range(900)], [libc.malloc(3_000) for _ in range(900)]
for block in blocks[::3]:
    libc.free(block)
del objects[::3]
preload.freeze()
places = sorted(id(each) for each in [bytes(100) for _ in range(5)])
one, *more = sorted(libc.malloc(3_000) for _ in range(5))
print({b - a for a, b in zip(places, places[1:])} == {144}, min(more) > max(blocks))
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["True", "True"]
