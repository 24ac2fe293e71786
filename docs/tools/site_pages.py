"""Lays out the pages of the site in a folder: those of docs/, files that they link to, help of all commands, diagrams.

`python -m docs.tools.site_pages build/pages`
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from docs.tools.command_reference import commands
from docs.tools.diagrams import with_pictures, without_picture

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
OUTSIDE = re.compile(r"\]\((\.\./[^)#\s]+)(?:#[^)\s]*)?\)")
ELSEWHERE = re.compile(r"<!-- not on the site -->.*?<!-- end -->\n?", re.DOTALL)
CODE_IN_ROW = re.compile(r"`[^`\n]*`(?=[^\n]*\|$)", re.MULTILINE)  # `a\|b`: the site needs no backslash there
FACE = re.compile(r"@font-face\s*\{[^}]*\}")
LANGUAGES = {"py": "python", "yml": "yaml", "yaml": "yaml", "sh": "sh", "toml": "toml", "json": "json"}


def lay_out(pages: Path) -> None:
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("tools", "__pycache__"))
    for page in DOCS.glob("*.md"):
        for path in linked(page.read_text()):
            write(pages / address(path), shown(path))
        write(pages / page.name, changed(page))
    write(pages / "changes.md", (ROOT / "CHANGELOG.md").read_text().replace("](docs/", "]("))
    for picture in pages.rglob("*.svg"):  # pictures of terminals name fonts of other hosts: the reader's serve
        picture.write_text(FACE.sub("", picture.read_text()))


def changed(page: Path) -> str:
    """The page with links to other files of the project led to their pages, and diagrams as pictures."""
    text = OUTSIDE.sub(lambda link: f"]({address(target(link[1]))})", page.read_text())
    text = ELSEWHERE.sub("", CODE_IN_ROW.sub(lambda code: code[0].replace("\\|", "|"), text))
    more = "\n" + "\n".join(commands()) if page.name == "commands.md" else ""
    return with_pictures(text) + more


def linked(text: str) -> Iterator[Path]:
    """The files outside of docs/ that a page links to; for a folder its files as well."""
    for link in OUTSIDE.findall(text):
        path = target(link)
        yield path
        if path.is_dir():
            yield from (inside for inside in path.rglob("*") if is_source(inside))


def is_source(path: Path) -> bool:
    """False for what Python leaves beside it."""
    return "__pycache__" not in path.parts


def target(link: str) -> Path:
    return (DOCS / link).resolve()


def address(path: Path) -> str:
    return f"files/{path.relative_to(ROOT)}.md"


def shown(path: Path) -> str:
    """The page of a file or a folder; the search leaves it out."""
    head = f"---\nsearch:\n  exclude: true\n---\n# {path.relative_to(ROOT)}\n\n"
    if path.is_dir():
        return head + "\n".join(
            f"- [{file.name}]({path.name}/{file.name}.md)" for file in sorted(path.iterdir()) if is_source(file)
        )
    return f"{head}````{LANGUAGES.get(path.suffix[1:], 'text')}\n{path.read_text()}````\n"


def write(page: Path, text: str) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
    if pages := [page.name for page in DOCS.glob("*.md") if without_picture(page.read_text())]:
        print(f"diagrams without a picture are shown as text, in {', '.join(pages)}: `make diagrams` draws them")
