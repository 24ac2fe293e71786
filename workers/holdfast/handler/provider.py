"""What is no function and no registry, but knows how it is run: the worker classes of `holdfast.timeline`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.handler.handler import Handler
from holdfast_config import Settings


class Provider(ABC):
    """Its methods have names that do not get in the way of a user's own."""

    @abstractmethod
    def __handler__(self, target: str, settings: Settings | None) -> Handler:
        """How it is run. `target` is how the operator named it. Raises HandlerError."""
