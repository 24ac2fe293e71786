"""Errors of the demonstration."""

from __future__ import annotations


class DemoError(Exception):
    """The demonstration cannot run; `status`: the exit status of its supervisor, if it has ended."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
