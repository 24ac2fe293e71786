"""Packages whose own code runs when something of it is first used, so that one of their modules costs no more than it
needs. What imports them sees no difference."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

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


def put(name: str) -> None:
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
