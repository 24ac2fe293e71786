"""The pictures of the dashboard: all of them stand on their page, and they are small."""

from __future__ import annotations

import re
from pathlib import Path

from holdfastd.web.views.menu_and_strip import ENTRIES

DOCS = Path(__file__).parents[2] / "docs"
FILES = sorted((DOCS / "pictures" / "dashboard").iterdir())
PAGE = (DOCS / "dashboard-pictures.md").read_text()
LARGEST, ALL = 100_000, 3_000_000  # bytes


def test_each_picture_stands_on_the_page_and_each_page_has_one() -> None:
    assert sorted(re.findall(r"pictures/(dashboard/[\w-]+\.webp)", PAGE)) == [
        f"dashboard/{each.name}" for each in FILES
    ]
    assert {entry.title for entry in ENTRIES} <= set(re.findall(r"^## (.+)$", PAGE, re.MULTILINE))


def test_pictures_are_small() -> None:
    sizes = {each.name: each.stat().st_size for each in FILES}
    assert {name: size for name, size in sizes.items() if size >= LARGEST} == {}
    assert sum(sizes.values()) < ALL
