"""Draws each diagram of the pages twice, light and dark, with mermaid in a Chromium; removes pictures of earlier ones.

`make diagrams`; CHROMIUM names the program. Mermaid comes from npm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from docs.tools.diagrams import BLOCK, DOCS, SCHEMES, picture

MERMAID = "mermaid@11.17.2"
THEMES = {"light": "neutral", "dark": "dark"}
DRAW = """async ([text, theme]) => {
    const options = {theme, htmlLabels: false, startOnLoad: false}
    options.fontFamily = "system-ui, sans-serif"
    options.themeCSS = ".edgeLabel rect { opacity: 1 }"
    for (const kind of ["flowchart", "sequence", "state"]) options[kind] = {useMaxWidth: false, htmlLabels: false}
    mermaid.initialize(options)
    return (await mermaid.render("d", text)).svg
}"""


def main() -> None:
    texts = {text for page in sorted(DOCS.glob("*.md")) for text in BLOCK.findall(page.read_text())}
    wanted = {picture(text, scheme): (text, THEMES[scheme]) for text in texts for scheme in SCHEMES}
    folder = next(iter(wanted)).parent
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(folder.glob("*.svg")) - wanted.keys():
        stale.unlink()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(path=mermaid(Path(scratch)))
        for path, (text, theme) in wanted.items():
            path.write_text(drawn(page, text, theme) + "\n")
        browser.close()
    print(f"{len(wanted)} pictures in {folder.relative_to(DOCS.parent)}")


def drawn(page: Page, text: str, theme: str) -> str:
    svg: str = page.evaluate(DRAW, [text, theme])
    return svg


def chromium() -> str:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        raise SystemExit("make diagrams: no Chromium on PATH; CHROMIUM=/path/to/chromium names one")
    return found


def mermaid(scratch: Path) -> Path:
    subprocess.run(["npm", "pack", "--silent", MERMAID], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    shutil.unpack_archive(next(scratch.glob("*.tgz")), scratch)
    return scratch / "package/dist/mermaid.min.js"


if __name__ == "__main__":
    main()
