"""The PostgreSQL driver, imported when it is first needed: it is an extra, and most processes never need it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from holdfast.errors import MissingPackageError


@cache
def asyncpg() -> Any:
    """The package asyncpg, which is untyped; MissingPackageError says what to install."""
    try:
        return import_module("asyncpg")
    except ImportError as error:
        raise MissingPackageError(
            "storage in PostgreSQL needs the package asyncpg: pip install 'holdfast-supervisor[postgres]'"
        ) from error
