"""Imports libraries, but leaves out modules of theirs that no process of a service uses. This saves memory."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

# A package on demand: its `__init__.py` does not run when one of its modules is imported, but on the first use of a
# name that `__init__.py` defines. Code that imports the package sees no difference. A module without modules of its own
# can be on demand, too.

_lock = RLock()  # other threads wait until `__init__.py` has run
_running: set[str] = set()


class PackageOnDemand(ModuleType):
    """A package whose `__init__.py` has not run to its end yet. The code of `__init__.py` runs when one of its names is
    first used. The modules of the package can be imported as usual."""

    def __getattr__(self, name: str) -> Any:
        missing = AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name.startswith("__") and name != "__all__":  # the import system looks these names up
            raise missing
        module = f"{self.__name__}.{name}"
        if home := HOMES.get(module):
            return getattr(importlib.import_module(home), name)
        if hasattr(self, "__path__") and find_spec(module) is not None:
            return importlib.import_module(module)
        with _lock:
            if self.__name__ in _running:  # the package's own `__init__.py` looks the name up while it runs
                raise missing
            if type(self) is PackageOnDemand:
                _run(self)
        return getattr(self, name)


def put_on_demand(name: str) -> None:
    """Have the code of this package run on demand, unless it has run already or the package is not installed."""
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


TELEMETRY = "opentelemetry"  # the Redis library imports it for metrics of its own, which are off by default
DRAWING = "rich"  # structlog imports it to draw tracebacks; Holdfast logs plain ones
ON_DEMAND = (
    "importlib.metadata",  # the Redis library uses it only to look up its own version
    "redis",  # its `__init__.py` imports the blocking clients
    "redis.asyncio",  # its `__init__.py` imports the client with its table of all commands
    "uvicorn",  # its `__init__.py` imports the command line
)
HOMES = {"uvicorn.Config": "uvicorn.config"}  # the module that defines a name, for which `__init__.py` need not run
OF_DASHBOARD = (  # modules on demand in the web process; its libraries import them for what it never does
    "html",  # its table of entities is needed only for texts with `&`
    "http.client",
    "logging.config",
)

# Options of the C library's `mallopt`, with values for a process that is idle most of the time: all threads use one
# heap, and its free end goes back to the kernel early. This saves 1 MB of the web process.
_HEAP_OPTIONS = ((-8, 1), (-1, 1 << 16), (-2, 1 << 14))  # M_ARENA_MAX, M_TRIM_THRESHOLD, M_TOP_PAD


def prepare(*, telemetry: bool) -> None:
    """Import structlog and the connections of the Redis library, without the modules that this file puts on demand.
    `telemetry`: this service sends telemetry, so OpenTelemetry is imported, too."""
    for name in ON_DEMAND:
        put_on_demand(name)
    with _left_out(DRAWING, *(() if telemetry else (TELEMETRY,))):
        importlib.import_module("structlog")
        importlib.import_module("redis.asyncio.connection")
    _offer_telemetry_of_redis()


def prepare_dashboard() -> None:
    """Prepare the memory of the web process: put modules on demand that only it imports, and keep its heap small. Call
    this in the web process, before its imports."""
    _keep_heap_small()
    for name in OF_DASHBOARD:
        put_on_demand(name)


def _keep_heap_small() -> None:
    """Have the C library give free memory of this process back to the kernel early."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # only glibc has this function
        for option, value in _HEAP_OPTIONS:
            libc.mallopt(option, value)


@contextmanager
def _left_out(*libraries: str) -> Generator[None]:
    absent = [name for name in libraries if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # the import system's mark of a missing module
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def _offer_telemetry_of_redis() -> None:
    """Make the Redis library's own metrics available, although OpenTelemetry is not imported yet. If a handler switches
    them on, the library imports OpenTelemetry."""
    for name in ("redis.observability.metrics", "redis.observability.providers"):
        module = sys.modules.get(name)
        if hasattr(module, "OTEL_AVAILABLE"):
            vars(module)["OTEL_AVAILABLE"] = True
