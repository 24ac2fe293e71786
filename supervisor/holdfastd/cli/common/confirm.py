"""Asking before something is done that cannot be undone."""

from __future__ import annotations

import sys

import click

from holdfastd.cli.common import output


def confirm(question: str, why: str, *, yes: bool) -> None:
    """Go on, or end: `yes` was said on the command line, or is said now; nobody there to ask means no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{why}: say --yes")
    click.confirm(output.safe(question), abort=True, err=True)
