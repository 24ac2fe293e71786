"""Settings read from what a test says, in a folder of its own, and from nothing of this machine."""

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
    """The same, for settings that must be refused: the lines."""

    def problems(environ: Mapping[str, str] | None = None, **flags: object) -> tuple[str, ...]:
        with pytest.raises(ConfigError) as refused:
            read(environ, **flags)
        assert str(refused.value).splitlines() == list(refused.value.problems)
        return refused.value.problems

    return problems
