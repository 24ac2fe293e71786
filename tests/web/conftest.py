"""Fixtures of the dashboard's tests."""

from __future__ import annotations

import pytest

from holdfastd.web.queue import cached_reports
from tests.cli.conftest import cli

__all__ = ["cli"]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, too, a page has its figures at once."""
    monkeypatch.setattr(cached_reports, "PATIENCE", 60.0)
