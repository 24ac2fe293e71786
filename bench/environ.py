"""The environment of the measured processes: the user's own settings must not reach them."""

from __future__ import annotations

import os

from bench.pool import ROOT
from bench.records import VARIABLE, Records

_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")


def environ(records: Records) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), VARIABLE: str(records.path)}
