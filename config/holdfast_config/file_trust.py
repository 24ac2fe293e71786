"""Checks the mode of settings files: those that others can write are errors, readable secrets are warnings."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast_config.names import PASSWORDS
from holdfast_config.origin import ValueWithOrigin
from holdfast_config.redis_urls import mask


def judge(path: Path, given: Mapping[str, ValueWithOrigin], *, strict: bool) -> tuple[list[str], list[str]]:
    """Returns the problems, which make the file at `path` an error, and the warnings. `given` are the settings in it.

    `strict`: the caller is root or a service. A pipe or a device is not checked.
    """
    problems: list[str] = []
    warnings: list[str] = []
    try:
        status = path.stat()
    except OSError:  # the reader of the file reports it
        return problems, warnings
    if not stat.S_ISREG(status.st_mode):
        return problems, warnings
    mode = f"mode {stat.S_IMODE(status.st_mode):o}"
    if status.st_mode & stat.S_IWOTH:
        problems.append(f"{path}: everybody can write it ({mode}): chmod o-w {path}")
    elif status.st_mode & stat.S_IWGRP:
        (problems if strict else warnings).append(f"{path}: its group can write it ({mode}): chmod g-w {path}")
    if status.st_mode & stat.S_IROTH and (secrets := [given[name].key for name in _secrets(given)]):
        keys = ", ".join(key.removesuffix(f" (in {path})") for key in secrets)
        warnings.append(f"{path}: everybody can read it ({mode}), and it holds {keys}: chmod o-r {path}")
    return problems, warnings


def is_strict(is_service: bool) -> bool:
    """True if the settings control more than the caller's own rights."""
    return is_service or os.geteuid() == 0


def _secrets(given: Mapping[str, ValueWithOrigin]) -> Iterable[str]:
    """Yields the fields that hold a secret: passwords, and URLs with a login."""
    for name, origin in given.items():
        if name in PASSWORDS or (
            isinstance(origin.value, str) and "://" in origin.value and mask(origin.value) != origin.value
        ):
            yield name
