"""Fixtures: commands against a queue of their own."""

from __future__ import annotations

from tests.cli.conftest import alone, cli, inside

__all__ = ["alone", "cli", "inside"]
