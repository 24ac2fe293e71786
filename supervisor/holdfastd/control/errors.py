"""Errors of requests to the supervisor."""

from __future__ import annotations

from holdfast.errors import HoldfastError


class ControlError(HoldfastError):
    """The supervisor did not do what was asked; the message says why."""


class DeniedError(ControlError):
    """This user may not ask the supervisor for that."""


class NotRunningError(ControlError):
    """No supervisor answers in this runtime directory."""
