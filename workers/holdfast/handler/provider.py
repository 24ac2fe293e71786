"""Base class of objects that make a handler of themselves: the worker classes of `holdfast.timeline`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.handler.handler import Handler
from holdfast_config import Settings


class Provider(ABC):
    """Its methods have names that do not get in the way of a user's own."""

    @abstractmethod
    def __handler__(self, target: str, settings: Settings | None) -> Handler:
        """The handler that runs its tasks. `target` is the name that the operator gave. Raises HandlerError."""
