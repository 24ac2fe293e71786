"""Without the framework, importing its adapter says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.commands import Cli

WITHOUT = "import sys; sys.modules['bindu'] = None\n"
TOLD = "holdfast.bindu needs the package bindu, on Python 3.12 or later: pip install 'holdfast-supervisor[bindu]'"


def test_the_import_is_an_import_error_that_names_the_extra() -> None:
    caught = "try:\n    import holdfast.bindu\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", WITHOUT + caught], capture_output=True, text=True, check=True)
    assert done.stdout == f"{TOLD}\n"


def test_it_is_an_error_of_our_tree_with_nothing_before_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT + "import holdfast.bindu"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"holdfast.errors.MissingFrameworkError: {TOLD}"
    assert done.stderr.count("Traceback") == 1


def test_a_handler_that_imports_it_is_a_bad_configuration(short_path: Path) -> None:
    (short_path / "agent.py").write_text(WITHOUT + "import holdfast.bindu\ndef handle(messages): pass\n")
    answer = Cli(short_path)("check", "agent:handle", "--app-dir", str(short_path))
    assert answer.status == 78
    assert TOLD in answer.out + answer.err
