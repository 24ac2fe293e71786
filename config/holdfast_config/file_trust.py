"""Settings files that others could have written are refused; those that show a secret to everybody are warned of."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast_config.names import PASSWORDS
from holdfast_config.origin import ValueWithOrigin
from holdfast_config.redis_urls import mask


@dataclass(frozen=True, slots=True)
class TrustJudgement:
    """`problems` refuse the file; `warnings` do not."""

    problems: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def judge(path: Path, given: Mapping[str, ValueWithOrigin], *, strict: bool) -> TrustJudgement:
    """The file at `path`, in which these settings stand; a pipe or a device is no file. `strict`: root or a service
    uses them."""
    found = TrustJudgement()
    try:
        told = path.stat()
    except OSError:  # reading it told that
        return found
    if not stat.S_ISREG(told.st_mode):
        return found
    mode = f"mode {stat.S_IMODE(told.st_mode):o}"
    if told.st_mode & stat.S_IWOTH:
        found.problems.append(f"{path}: everybody can write it ({mode}): chmod o-w {path}")
    elif told.st_mode & stat.S_IWGRP:
        into = found.problems if strict else found.warnings
        into.append(f"{path}: its group can write it ({mode}): chmod g-w {path}")
    if told.st_mode & stat.S_IROTH and (secrets := [given[name].key for name in _secrets(given)]):
        keys = ", ".join(key.removesuffix(f" (in {path})") for key in secrets)
        found.warnings.append(f"{path}: everybody can read it ({mode}), and it holds {keys}: chmod o-r {path}")
    return found


def is_strict(is_service: bool) -> bool:
    """Whether what is read decides over more than the caller's own rights."""
    return is_service or os.geteuid() == 0


def _secrets(given: Mapping[str, ValueWithOrigin]) -> Iterable[str]:
    """Fields with a secret in them: passwords, and URLs with a login."""
    for name, one in given.items():
        if name in PASSWORDS or (isinstance(one.value, str) and "://" in one.value and mask(one.value) != one.value):
            yield name
