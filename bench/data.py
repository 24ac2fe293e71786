"""The data file of docs/performance.md: one section a command, each of one run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bench.pool import ROOT

PATH = ROOT / "docs" / "performance.json"
DIGITS = 5


def load(path: Path = PATH) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def store(sections: dict[str, Any]) -> None:
    PATH.write_text(json.dumps(_rounded(sections), indent=1) + "\n")


def committed() -> dict[str, Any]:
    """The file as it was committed last."""
    shown = subprocess.run(
        ["git", "show", f"HEAD:{PATH.relative_to(ROOT)}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else {}


def only(section: dict[str, Any], titles: Collection[str]) -> dict[str, Any]:
    """A section without the other subjects, and without versions of peers."""
    of = {key: _of(section[key], titles) for key in ("rounds", "failed")}
    return {**section, **of, "versions": {}}


def _of(measures: dict[str, dict[str, Any]], titles: Collection[str]) -> dict[str, dict[str, Any]]:
    kept = {name: {title: rounds for title, rounds in by.items() if title in titles} for name, by in measures.items()}
    return {name: by for name, by in kept.items() if by}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
