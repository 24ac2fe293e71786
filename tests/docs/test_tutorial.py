"""docs/tutorial.md, walked through as it is written: each step's files, its commands and what they print."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from tests.docs.walked_pages import DOCS, walk

PAGE = (DOCS / "tutorial.md").read_text()
STEPS = re.split(r"^## (?=\d\. )", PAGE, flags=re.MULTILINE)[1:]


def test_the_tutorial_has_eight_steps_that_its_table_lists() -> None:
    titles = [step.partition("\n")[0] for step in STEPS]
    assert [title[0] for title in titles] == list("12345678")
    assert re.findall(r"^\| \[(.*?)\]", PAGE, re.MULTILINE) == titles


def test_each_step_runs_and_prints_what_it_says(short_path: Path) -> None:
    with ExitStack() as supervisors:
        for step in STEPS:
            walk(step, short_path, supervisors)
