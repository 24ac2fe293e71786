"""Gives click its version. click would search the metadata of packages for it: a fifth of the time of `--help`."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import click

_FOLDER = re.compile(r"click-(\d+\.\d+\.\d+.*)\.dist-info")


def set_version() -> None:
    """Set `click.__version__` from the name of the folder that its installer made; click finds it if there is none."""
    if "__version__" in vars(click):
        return
    with suppress(OSError):
        for entry in Path(click.__file__).parents[1].iterdir():
            if found := _FOLDER.fullmatch(entry.name):
                setattr(click, "__version__", found[1])  # noqa: B010 - its stub has none to assign to
                return
