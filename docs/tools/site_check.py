"""Checks a built site: nothing is loaded from another host, and each link within it leads somewhere.

`python -m docs.tools.site_check site`
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("source", "srcset"),
    ("source", "src"),
    ("iframe", "src"),
    ("link", "href"),
}
NOT_LOADED = {
    "canonical",
    "prev",
    "next",
    "alternate",
    "search",
}  # a link with one of these is only followed by a reader
IN_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


@dataclass
class PageReader(HTMLParser):
    """The addresses that a page loads and links to, its anchors, and whether a script would draw a diagram."""

    loaded: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    drawn_by_script: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.drawn_by_script |= "mermaid" in given.get("class", "").split()
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in NOT_LOADED:
            return
        self.loaded += [given[name] for name in given if (tag, name) in LOADED]


def problems(site: Path) -> Iterator[str]:
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site)
        read = reader(page)
        yield from (f"{name} loads {address} from another host" for address in read.loaded if foreign(address))
        yield from (f"{name}: nothing at {address}" for address in read.loaded + read.links if not leads(page, address))
        if read.drawn_by_script:
            yield f"{name} has a diagram that a script from another host would draw"
    for file in sorted([*site.rglob("*.css"), *site.rglob("*.svg")]):
        found = IN_STYLES.findall(file.read_text())
        yield from (f"{file.relative_to(site)} loads {address} from another host" for address in found)


@cache
def reader(page: Path) -> PageReader:
    read = PageReader()
    read.feed(page.read_text())
    return read


def foreign(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def leads(page: Path, address: str) -> bool:
    """False if the address is one within the site, and the file or the heading is not there."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or page.name == "404.html":  # the links of that page count from the site's root
        return True
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if file.is_dir():
        file /= "index.html"
    if not file.exists():
        return False
    return file.suffix != ".html" or parts.fragment in {"", "__comments"} | anchors(file)


def anchors(page: Path) -> set[str]:
    return {unquote(anchor) for anchor in reader(page).anchors}


if __name__ == "__main__":
    if found := list(problems(Path(sys.argv[1]))):
        sys.exit("\n".join(found))
    print(f"{sys.argv[1]}: no request to another host, every link leads somewhere")
