"""Errors of starting the embedded store."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.exits import Exit


class StoreLaunchError(HoldfastError):
    """The embedded store cannot be started; the message says what to do, `code` is what the service exits with."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code
