"""Pictures of each page of the dashboard in each state of a queue: `python -m bench.demo_pictures FOLDER [STATE…]`.

Three sizes, light and dark: FOLDER/STATE/PAGE-SIZE-COLOUR.png. Look at them after a change of the pages.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from playwright.async_api import async_playwright

from bench.dashboard_pictures import ARGUMENTS, LOOKS, taken
from bench.demo_states import STATES

SIZES: dict[str, dict[str, Any]] = {
    "desktop": LOOKS["light"],
    "tablet": {"viewport": {"width": 820, "height": 1180}, "has_touch": True},
    "phone": LOOKS["phone"],
}


async def pictures(name: str, to: Path) -> None:
    async with STATES[name]() as state, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for size, options in SIZES.items():
            for colour in ("light", "dark"):
                look = f"{size}-{colour}"
                await taken(
                    browser,
                    state.base,
                    options | {"color_scheme": colour},
                    state.names,
                    state.pages,
                    lambda page, look=look: to / f"{page}-{look}.png",
                )
        await browser.close()


def main(to: Path, wanted: Sequence[str]) -> int:
    if unknown := [name for name in wanted if name not in STATES]:
        print(f"state {unknown[0]!r}: {', '.join(STATES)} can be named", file=sys.stderr)
        return 2
    for name in wanted or STATES:
        (to / name).mkdir(parents=True, exist_ok=True)
        anyio.run(pictures, name, to / name)
        print(f"{name}: {len(list((to / name).glob('*.png')))} pictures in {to / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
