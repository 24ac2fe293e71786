"""Imports libraries without those of their own imports that no process of a service uses."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

# Packages whose own code runs when something of it is first used, so that one of their modules costs no more than it
# needs. What imports them sees no difference.

_lock = RLock()  # other threads wait until the code has run
_running: set[str] = set()


class PackageOnDemand(ModuleType):
    """A package whose code has not run to its end. Its modules are imported as usual."""

    def __getattr__(self, name: str) -> Any:
        missing = AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name.startswith("__") and name != "__all__":  # the import system asks for such names
            raise missing
        module = f"{self.__name__}.{name}"
        if find_spec(module) is not None:
            return importlib.import_module(module)
        with _lock:
            if self.__name__ in _running:  # its own code asks
                raise missing
            if type(self) is PackageOnDemand:
                _run(self)
        return getattr(self, name)


def put_on_demand(name: str) -> None:
    """Let this package run on demand, unless it has run already or is not installed."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is None:
        return
    package = module_from_spec(spec)
    package.__class__ = PackageOnDemand
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)


def _run(package: ModuleType) -> None:
    assert package.__spec__ is not None
    assert package.__spec__.loader is not None
    _running.add(package.__name__)
    try:
        package.__spec__.loader.exec_module(package)
    finally:
        _running.discard(package.__name__)
    package.__class__ = ModuleType


TELEMETRY = "opentelemetry"  # the Redis library has metrics of its own, off by default
DRAWING = "rich"  # structlog draws tracebacks with it; ours are plain
ON_DEMAND = (
    "importlib.metadata",  # the Redis library asks it for versions where it is told to
    "redis",  # imports the library's blocking clients
    "redis.asyncio",  # imports the library's client with its table of all commands
    "uvicorn",  # imports its command line
)


def prepare(*, telemetry: bool) -> None:
    """Import structlog and the connections of the Redis library. `telemetry`: this service sends telemetry."""
    for name in ON_DEMAND:
        put_on_demand(name)
    with _left_out(DRAWING, *(() if telemetry else (TELEMETRY,))):
        importlib.import_module("structlog")
        importlib.import_module("redis.asyncio.connection")
    _offer_telemetry_of_redis()


@contextmanager
def _left_out(*libraries: str) -> Generator[None]:
    absent = [name for name in libraries if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # as the import system marks what cannot be imported
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def _offer_telemetry_of_redis() -> None:
    """Let a handler use the Redis library's own metrics nevertheless: it imports OpenTelemetry when they are set up."""
    for name in ("redis.observability.metrics", "redis.observability.providers"):
        module = sys.modules.get(name)
        if hasattr(module, "OTEL_AVAILABLE"):
            vars(module)["OTEL_AVAILABLE"] = True
