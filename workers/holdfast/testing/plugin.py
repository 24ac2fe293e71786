"""The pytest plugin with the fixture `holdfast_broker`. pytest imports this module at every start. So the module
imports the rest of Holdfast only when a test uses a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from holdfast.testing.broker import MemoryBroker
    from holdfast_config import Settings


@pytest.fixture
def holdfast_settings(request: pytest.FixtureRequest) -> Settings:
    """The settings of the project's supervisor.toml, without the environment. To use others, define a fixture of this
    name."""
    from holdfast_config import ConfigError, load
    from holdfast_config.resolve import USUAL

    root = request.config.rootpath
    folder = root if (root / USUAL).is_file() else Path.cwd()
    try:
        settings = load({"scheduler_type": "memory"}, environ={}, folder=folder)
    except ConfigError as error:
        pytest.fail(f"holdfast_settings: {error}", pytrace=False)
    return settings.model_copy(update={"app_dir": folder / settings.app_dir})


@pytest.fixture
def holdfast_handlers(holdfast_settings: Settings) -> Any:
    """The handlers that run the tasks of a test: those of supervisor.toml or agent.py. To use others, define a fixture
    of this name that returns a registry, a function, or None for tests that only submit."""
    from holdfast.errors import HandlerError
    from holdfast.handler.choose import handler_of

    try:
        # No check of trust is needed: pytest has run code of this folder already (conftest.py).
        return handler_of(holdfast_settings.model_copy(update={"trust_folders": (Path("/"),)}))
    except HandlerError as error:
        pytest.fail(
            f"{error.traceback}holdfast_broker has no handlers: {error}; or define a fixture `holdfast_handlers` that "
            "returns a Handlers registry, a function, or None",
            pytrace=False,
        )


@pytest.fixture
def holdfast_broker(holdfast_handlers: Any, holdfast_settings: Settings) -> Iterator[MemoryBroker]:
    """A broker in memory for this test only. Handlers run in the process of the test, and the test moves the time."""
    from holdfast.testing.broker import memory_broker

    with memory_broker(holdfast_handlers, holdfast_settings) as broker:
        yield broker
