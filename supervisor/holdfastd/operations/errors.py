"""Why an act cannot be carried out, where no error of the library says it."""

from __future__ import annotations

from holdfast.errors import HoldfastError


class NotFoundError(HoldfastError):
    """There is no such thing."""


class NotPossibleError(HoldfastError):
    """This cannot be done as things are; nothing was changed."""
