"""Parents under test, ended with their test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parent.service import Service


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a parent with these options for the driver, in a folder of the test."""
    services: list[Service] = []

    def starting(**options: Any) -> Service:
        services.append(Service(tmp_path, **options))
        return services[-1]

    yield starting
    for service in services:
        service.close()
