"""The table of the API's operations: `python -m tests.docs.operations_table docs/api.md` renews it on that page."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfastd.web.api.operations import OPERATIONS

HEADER = "| operation | meaning |\n|---|---|\n"


def renewed(page: str) -> str:
    """The page with the table of the present operations."""
    before, _, rest = page.partition(HEADER)
    rows = "".join(f"| `{each.method} {each.path}` | {each.summary} |\n" for each in OPERATIONS)
    return before + HEADER + rows + rest[rest.index("\n\n") + 1 :]


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text()))
