"""The version of Holdfast that is installed, looked up by the name of its distribution."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

DISTRIBUTION = "holdfast-supervisor"  # `holdfast` on the public index is another project's


@cache
def installed() -> str:
    return version(DISTRIBUTION)
