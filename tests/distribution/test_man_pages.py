"""Each command has a manual page, made from its help."""

from __future__ import annotations

from distribution.man_pages import pages
from holdfastd.cli.command_table import COMMANDS


def test_each_command_has_a_page_with_its_options() -> None:
    found = pages()
    assert {f"supervisor-{command.name}.1" for command in COMMANDS if not command.hidden} < found.keys()
    assert "supervisor-tasks-show.1" in found
    assert ".B \\-\\-task\\-id" in found["supervisor-submit.1"]


def test_no_line_of_help_is_a_request_of_roff() -> None:
    requests = {".TH", ".SH", ".PP", ".TP", ".B", ".BR"}
    lines = [line for text in pages().values() for line in text.splitlines() if line.startswith((".", "'"))]
    assert {line.split()[0] for line in lines} == requests
