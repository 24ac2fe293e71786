"""Every command imports the settings, so they import no heavy package and start no thread."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("structlog", "rich", "redis", "opentelemetry", "uvloop", "anyio")


def test_importing_the_settings_brings_no_heavy_package_and_no_thread() -> None:
    program = "import holdfast_config, sys, threading; print(*sys.modules, threading.active_count())"
    *modules, threads = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not set(HEAVY) & set(modules)
    assert threads == "1"


def test_nothing_but_the_promised_names_is_public() -> None:
    import holdfast_config

    assert set(holdfast_config.__all__) == {"Settings", "RedisSettings", "ConfigError", "load", "mask"}
