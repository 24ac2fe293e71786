"""Projects of users in folders of their own, and their tests, run by a pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cli.commands import clean


@dataclass(frozen=True)
class Report:
    """The end of a pytest: its exit status, and all that it has printed."""

    status: int
    out: str


def run_tests(folder: Path, files: Mapping[str, str], *options: str, asyncio: bool = False) -> Report:
    """Write these files and run pytest there. `asyncio`: with the plugin pytest-asyncio, too."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    plugins = ("-p", "no:valkey", "-p", "no:cacheprovider", *(() if asyncio else ("-p", "no:asyncio")))
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", *plugins, *options]
    environ = clean(dict(os.environ)) | {"PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False)
    return Report(answer.returncode, answer.stdout + answer.stderr)
