"""docs/recipes.md: each recipe runs as it is written, and prints what it says."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast_config import RedisSettings
from tests.docs.walked_pages import BLOCK, DOCS, walk

PAGE = (DOCS / "recipes.md").read_text()
RECIPES = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}


@pytest.mark.parametrize("recipe", [title for title, text in RECIPES.items() if BLOCK.search(text)])
def test_a_recipe_runs_and_prints_what_it_says(recipe: str, short_path: Path, redis_settings: RedisSettings) -> None:
    if "from fastapi import" in RECIPES[recipe]:
        pytest.importorskip("fastapi", reason="pip install '.[dev]'")
    with ExitStack() as supervisors:
        walk(RECIPES[recipe], short_path, supervisors, {"redis://localhost:6379/0": redis_settings.url})


def test_each_recipe_is_listed_and_says_what_to_watch() -> None:
    assert re.findall(r"^\| \[(.*?)\]", PAGE, re.MULTILINE) == list(RECIPES)
    assert [title for title, text in RECIPES.items() if "\n**Watch.** " not in text] == []
