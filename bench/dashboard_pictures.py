"""Pictures of the dashboard for the docs: `python -m bench.dashboard_pictures FOLDER [PAGE…]`.

Runs a pool with the tasks of a shop for half a minute, and takes each page with Debian's Chromium: for a desktop, light
and dark, and for a phone.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx
from PIL import Image
from playwright.async_api import Browser, Page, async_playwright

from bench import shop_queue
from bench.pool import ROOT, SUPERVISOR, Pool, folder, pool
from bench.producing import QUEUE
from bench.shop_queue import LANES
from holdfast import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings

ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"]
AREAS, COLOURS = 12, 80
PASSWORD = "a password of the pictures"
WARM = 30.0  # seconds of work before the pictures
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 780}, "color_scheme": "light", "is_mobile": True, "has_touch": True},
}
TALLEST, TALLEST_NARROW, WIDE = 1100, 1400, 600  # pixels of a picture: its height, and its least width to be wide
PAGES = {
    "overview": "/",
    "lanes": "/lanes",
    "lane": "/lane?name=imports",
    "tasks": "/tasks",
    "questions": "/tasks?state=input-required",
    "tasks-found": "/tasks?state=failed&text=customer",
    "bulk-confirm": "/tasks/bulk?verb=retry&state=failed",
    "bulk": "/bulk",
    "task": f"/task?id={shop_queue.BOOKED}",
    "task-asks": f"/task?id={shop_queue.ASKED}",
    "task-failed": f"/task?id={shop_queue.BROKEN}",
    "task-flow": f"/task?id={shop_queue.REPORT}",
    "handlers": "/handlers",
    "handler": "/handler?name=mail.send",
    "submit": "/submit?name=invoice.make",
    "workers": "/workers",
    "schedules": "/schedules",
    "schedule": "/schedule?id=sweep",
    "batches": "/batches",
    "batch": "/batch?id=newsletter-november",
    "dead-letters": "/dead",
    "unreadable": "/unreadable",
    "webhooks": "/webhooks",
    "events": "/events",
    "activity": "/activity",
}


HIDE = """names => {
    const hide = () => {
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
        for (let text = texts.nextNode(); text; text = texts.nextNode())
            for (const [name, shown] of names)
                if (text.nodeValue.includes(name)) text.nodeValue = text.nodeValue.replaceAll(name, shown)
    }
    hide()
    new MutationObserver(hide).observe(document.body, {childList: true, subtree: true})
}"""


def users(place: Path) -> Path:
    """The file with one user."""
    command = [SUPERVISOR, "web-user", "ada", "--role", "operator"]
    file = place / "users"
    file.write_text(subprocess.run(command, input=PASSWORD, capture_output=True, text=True, check=True).stdout)
    file.chmod(0o600)
    return file


def address(running: Pool) -> str:
    """Of the dashboard, from the log."""
    found = re.search(r"dashboard at (http[^\s\"]+)", running.log.read_text())
    assert found, running.log.read_text()
    return found[1].rstrip("/")


async def pictures(running: Pool, to: Path, wanted: Sequence[str]) -> None:
    place = str(running.runtime_dir.parent)
    names = [[socket.gethostname(), "host-1"], [str(ROOT), "/srv/shop"], [place, "/run/holdfast"]]
    base = address(running)
    async with (
        open_store(RedisSettings(url=running.url)) as store,
        httpx.AsyncClient(base_url=base, auth=("ada", PASSWORD)) as client,
        async_playwright() as playwright,
    ):
        manager = TaskManager(store, queue=QUEUE)
        await shop_queue.write_figures(store)
        await shop_queue.fill(store, manager)
        async with shop_queue.live(manager):
            await anyio.sleep(WARM / 2)
            await shop_queue.change(client)
            await manager.run_task("Friday", task_id=shop_queue.BOOKED)
            await anyio.sleep(WARM / 2)
            pages = {name: path for name, path in PAGES.items() if not wanted or name in wanted}
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
            for look, options in LOOKS.items():
                await taken(browser, base, options, names, pages, lambda page, look=look: to / f"{page}-{look}.webp")
            await browser.close()


async def taken(
    browser: Browser,
    base: str,
    options: dict[str, Any],
    names: list[list[str]],
    pages: Mapping[str, str],
    file: Callable[[str], Path],
) -> None:
    """Log in and write a picture of each page to its file. `names`: texts of this machine, and what stands for each."""
    context = await browser.new_context(base_url=base, timezone_id="Europe/Berlin", locale="en-GB", **options)
    page = await context.new_page()
    await page.goto("/login")
    await write(page, file("login"))
    await page.fill("input[name=name]", "ada")
    await page.fill("input[name=password]", PASSWORD)
    await page.click("form.login button")
    await page.wait_for_selector("main h1")
    for name, path in pages.items():
        answer = await page.goto(path)
        if answer is None or not answer.ok:
            print(f"{path}: {answer and answer.status}")
        await page.wait_for_timeout(300)
        await page.evaluate(HIDE, names)
        await write(page, file(name))
    await context.close()


async def write(page: Page, file: Path) -> None:
    """The page down to a bound. A WebP picture has few colours, for a small file."""
    width, height = await page.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
    clip: Any = {"x": 0, "y": 0, "width": width, "height": min(height, TALLEST_NARROW if width < WIDE else TALLEST)}
    png = await page.screenshot(full_page=True, clip=clip)
    taken = Image.open(io.BytesIO(png)).convert("RGB")
    if file.suffix == ".webp":
        _in_few_colours(taken).save(file, lossless=True, method=6)
    else:
        taken.save(file)


def _in_few_colours(picture: Image.Image) -> Image.Image:
    """Areas keep their colours; those of letters' edges are the nearest of some."""
    areas = [colour for _, colour in sorted(picture.getcolors(1 << 24) or [], reverse=True)[:AREAS]]
    others = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in areas for part in colour] + others[: 3 * COLOURS])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB")


def main(to: Path, wanted: Sequence[str]) -> None:
    to.mkdir(parents=True, exist_ok=True)
    with folder() as place:
        flags = ["--concurrency", "4", "--web", "0", "--web-users-file", str(users(place)), "--lanes", ",".join(LANES)]
        environ = {"PATH": os.environ["PATH"], "HOME": str(place)}
        with pool("bench.apps.shop:handlers", 3, place, environ, *flags) as running:
            anyio.run(pictures, running, to, wanted)
    sizes = sorted((file.stat().st_size, file.name) for file in to.glob("*.webp"))
    print(f"{len(sizes)} pictures of {sum(size for size, _ in sizes):,} bytes, the largest {sizes[-1]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
