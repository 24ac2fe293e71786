"""The pages about web frameworks: their files are the examples, and the tests of these pass."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.testing.projects import run_tests

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^```python\n# ([\w/]+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRAMEWORKS = {"fastapi": "4 passed", "flask": "3 passed", "django": "3 passed"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_files_of_a_page_are_its_example(framework: str) -> None:
    files = FILE.findall((ROOT / f"docs/{framework}.md").read_text())
    assert len(files) >= 3
    for name, text in files:
        assert text == (ROOT / "examples" / f"web_{framework}" / name).read_text(), f"docs/{framework}.md: {name}"


@pytest.mark.parametrize(("framework", "passed"), FRAMEWORKS.items())
def test_the_tests_of_an_example_pass(framework: str, passed: str, tmp_path: Path) -> None:
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed: pip install '.[dev]'")
    shutil.copytree(ROOT / "examples" / f"web_{framework}", tmp_path, dirs_exist_ok=True)
    report = run_tests(tmp_path, {}, "-W", "default")  # libraries of a framework may warn of each other
    assert passed in report.out, report.out
