"""Asks for confirmation before an action that cannot be undone."""

from __future__ import annotations

import sys

import click

from holdfastd.cli.common import output


def confirm(question: str, why: str, *, yes: bool) -> None:
    """Return if `yes` (--yes) is given or the user agrees; else abort. Without a terminal, --yes is required."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{why}: add --yes to confirm")
    click.confirm(output.safe(question), abort=True, err=True)
