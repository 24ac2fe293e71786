"""Loads settings from a folder of the test and from the variables that it passes, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from holdfast_config import ConfigError, Settings, load

Load = Callable[..., Settings]
Problems = Callable[..., tuple[str, ...]]


@pytest.fixture
def read(tmp_path: Path) -> Load:
    """read(workers=2, environ={…}): flags as keywords; .env and supervisor.toml are looked for in tmp_path."""

    def read(environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
        return load(flags, environ={"XDG_RUNTIME_DIR": "/run/user/1"} | dict(environ or {}), folder=tmp_path)

    return read


@pytest.fixture
def problems(read: Load) -> Problems:
    """Loads settings that must be an error and returns the lines of the error."""

    def problems(environ: Mapping[str, str] | None = None, **flags: object) -> tuple[str, ...]:
        with pytest.raises(ConfigError) as refused:
            read(environ, **flags)
        assert str(refused.value).splitlines() == list(refused.value.problems)
        return refused.value.problems

    return problems
