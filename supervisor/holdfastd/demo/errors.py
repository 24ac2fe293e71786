"""What keeps the demonstration from being given."""

from __future__ import annotations


class DemoError(Exception):
    """The service could not be shown; `status` is what it exited with, if it did."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
