"""Diagrams as pictures: each block of mermaid in a page has two, light and dark, named by a digest of its text."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCHEMES = ("light", "dark")


def picture(text: str, scheme: str) -> Path:
    digest = hashlib.sha256(text.strip().encode()).hexdigest()[:12]
    return DOCS / "pictures" / "diagrams" / f"{digest}-{scheme}.svg"


def with_pictures(markdown: str, up: str = "") -> str:
    """The page with a picture in place of each block that has one; a block without one stays text."""
    return BLOCK.sub(lambda block: _shown(block, up), markdown)


def without_picture(markdown: str) -> list[str]:
    """The diagrams of a page that were not drawn since they changed."""
    return [text for text in BLOCK.findall(markdown) if not all(picture(text, scheme).exists() for scheme in SCHEMES)]


def _shown(block: re.Match[str], up: str) -> str:
    light, dark = (picture(block[1], scheme) for scheme in SCHEMES)
    if not (light.exists() and dark.exists()):
        return f"```text\n{block[1]}```"
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{up}{dark.relative_to(DOCS)}">'
    image = f'<img alt="diagram: {_words(block[1])}" src="{up}{light.relative_to(DOCS)}">'
    return f'<p class="diagram"><picture>{source}{image}</picture></p>'


def _words(text: str) -> str:
    """The first labels of a diagram, for readers who do not see it."""
    labels = re.findall(r'"([^"]+)"|: ([^\n]+)', text)
    return "; ".join(one or other for one, other in labels[:6]).replace('"', "")[:200]
