"""The long description and the addresses of the distribution, made of README.md when it is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)]+)\)")
PAGES = {"Documentation": "docs/README.md", "Changelog": "CHANGELOG.md"}


class Description(MetadataHookInterface):
    """`home` is the address below which the repository's files are read; "" where they are read nowhere."""

    def update(self, metadata: dict[str, Any]) -> None:
        home = str(self.config.get("home", ""))
        text = absolute((Path(self.root) / "README.md").read_text("utf-8"), home)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls(home)


def absolute(text: str, home: str) -> str:
    """The page as it is read outside of the repository: no link leads to a path. Without `home` its texts remain."""
    if home:
        return LINK.sub(lambda link: f"{link['picture']}[{link['text']}]({_below(home, link['path'])})", text)
    return LINK.sub(lambda link: "" if link["picture"] else link["text"], text)


def urls(home: str) -> dict[str, str]:
    """The addresses that an index shows beside the distribution."""
    return {"Homepage": home} | {name: _below(home, path) for name, path in PAGES.items()} if home else {}


def _below(home: str, path: str) -> str:
    return f"{home.rstrip('/')}/{path}"
