"""Fixtures: parents whose sockets are asked."""

from __future__ import annotations

from tests.parent.conftest import start

__all__ = ["start"]
