"""The memory that processes share holds no library that none of them uses, and code of users finds all of each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UNUSED = {
    "argparse",  # of the settings' reader
    "click",
    "dotenv",
    "opentelemetry",
    "pydantic_settings",
    "redis.asyncio.client",
    "redis.client",
    "redis.cluster",
    "redis.commands",
    "rich",
    "tomllib",
    "uvicorn.main",
}
SERVICE = "from holdfastd.cli import service_process; service_process._import('start'); import sys\n"


def told(program: str, folder: Path | None = None) -> str:
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60, cwd=folder)
    return ran.stdout.strip()


def test_no_process_of_a_pool_carries_what_none_uses() -> None:
    loaded = told(
        f"{SERVICE}import holdfastd.parent.preload_handler, holdfast; holdfast.Handlers; holdfast.create_broker\n"
        "print(*sys.modules)"
    )
    assert {"holdfast.worker.main", "redis.asyncio.connection"} <= set(loaded.split())
    assert not UNUSED & set(loaded.split())


def test_a_dashboard_by_itself_carries_nothing_of_the_command_line() -> None:
    loaded = told(
        "from holdfastd.cli import service_process; service_process._import('web'); import sys; print(*sys.modules)"
    )
    assert {"holdfastd.web.application", "uvicorn.server"} <= set(loaded.split())
    assert not UNUSED & set(loaded.split())


DASHBOARD = "from holdfastd.parent import lean_imports; lean_imports.prepare_dashboard()\n"


def test_the_server_of_a_dashboard_carries_nothing_of_the_command_line() -> None:
    loaded = told(
        f"{SERVICE}{DASHBOARD}import sys\n"
        "from holdfast_config import load\n"
        "from holdfastd.web import web_process\n"
        "web_process.server_of(lambda: None, load())\n"
        "print(*(name for name, each in sys.modules.items() if type(each) is not lean_imports.PackageOnDemand))"
    )
    assert "uvicorn.lifespan.off" in loaded.split()
    assert not {"uvicorn", "click", "multiprocessing", "html", "logging.config", "difflib"} & set(loaded.split())


@pytest.mark.parametrize(
    ("use", "answer"),
    [
        ("from html import unescape; print(unescape('&lt;'))", "<"),
        ("import http.client; print(http.client.responses[404])", "Not Found"),
        ("import logging.config as c; print(c.dictConfig.__name__, hasattr(c, 'nothing'))", "dictConfig False"),
        ("from uvicorn import Config, run; print(Config.__module__, run.__module__)", "uvicorn.config uvicorn.main"),
    ],
)
def test_modules_on_demand_of_a_dashboard_are_whole(use: str, answer: str) -> None:
    assert told(f"{SERVICE}{DASHBOARD}{use}") == answer


@pytest.mark.parametrize(
    ("use", "answer"),
    [
        ("import redis; print(redis.Redis.__module__)", "redis.client"),
        ("from redis import Redis, VERSION; print(Redis.__module__, VERSION[0] > 6)", "redis.client True"),
        ("import redis.asyncio as r; print(r.Redis.__module__)", "redis.asyncio.client"),
        ("from redis.asyncio import from_url; print(from_url.__name__)", "from_url"),
        ("from redis import asyncio; print(asyncio.RedisCluster.__module__)", "redis.asyncio.cluster"),
        ("import redis.cluster; print(redis.cluster.RedisCluster.__name__)", "RedisCluster"),
        ("from redis import *; print(Redis.__module__)", "redis.client"),
        ("import redis; print(hasattr(redis, 'nothing'), redis.__version__[0] > '6')", "False True"),
        ("from importlib import metadata; print(metadata.version('pip') > '')", "True"),
        ("import uvicorn; print(uvicorn.run.__module__)", "uvicorn.main"),
        (
            "import threading, redis.asyncio as r\n"
            "found = []\n"
            "ask = [threading.Thread(target=lambda: found.append(r.Redis)) for _ in range(8)]\n"
            "[one.start() for one in ask]; [one.join() for one in ask]\n"
            "print(len(found), len(set(found)))",
            "8 1",
        ),
    ],
)
def test_code_of_users_finds_all_of_a_library(use: str, answer: str) -> None:
    assert told(f"{SERVICE}{use}") == answer


def test_a_package_that_fails_fails_again_at_its_next_use(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("import redis\nimport no_such_library\nname = 1\n")
    program = (
        "import sys; sys.path.insert(0, '.')\n"
        "from holdfastd.parent import lean_imports\n"
        "lean_imports.put_on_demand('broken')\n"
        "import broken\n"
        "for _ in range(2):\n"
        "    try: broken.name\n"
        "    except ModuleNotFoundError as error: print(error.name)\n"
    )
    assert told(program, tmp_path).split() == ["no_such_library"] * 2
