"""A copy of the tree, so that a rule is never taken out of the checkout itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.rules.rule import PACKAGES, ROOT, Rule

LONGEST = 300.0  # seconds that one test may take
FAILED = 1  # what pytest ends with when a test has failed


class Copy:
    """`folder` holds the tree as it is, but for the rule that is being tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tree"
        shutil.copytree(ROOT, self.folder, symlinks=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))

    def without(self, rule: Rule) -> str:
        """Take this rule out, run its test, put the rule back: noticed, survived or the reason of neither."""
        try:
            path = self.folder / rule.file
        except LookupError as error:
            return str(error)
        whole = path.read_text()
        path.write_text(rule.removed())
        try:
            return _verdict(self._run(rule.test))
        finally:
            path.write_text(whole)

    def _run(self, test: str) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(self.folder / package) for package in PACKAGES),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            return subprocess.run(
                command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, check=False, timeout=LONGEST
            ).returncode
        except subprocess.TimeoutExpired:
            return FAILED


def _verdict(code: int) -> str:
    if code == FAILED:
        return "noticed"
    return "SURVIVED" if code == 0 else f"the test cannot be run: pytest ended with {code}"
