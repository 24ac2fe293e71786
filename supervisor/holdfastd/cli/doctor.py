"""`supervisor doctor`: problems of this installation, and a remedy for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from holdfast.exits import Exit
from holdfast_config import ConfigError
from holdfastd.cli.common import Session, options, output
from holdfastd.cli.common.setting_flags import settings_but

if TYPE_CHECKING:
    from holdfastd.doctor.finding import Finding


@options.command(
    epilog="Examples:\n\nsupervisor doctor\n\nsupervisor doctor agent:handlers --workers 100 --redis-url redis://db:6379/0\n\n"
    "supervisor doctor --json --strict"
)
@click.argument("handler", required=False)
@click.option("--all", "shows_all", is_flag=True, help="Also print the checks that found nothing.")
@click.option("--strict", is_flag=True, help="Exit with status 1 also if there are only warnings.")
@click.option(
    "--deep",
    is_flag=True,
    help="Compare all keys of the queue even if Redis is large. Redis serves nobody else meanwhile.",
)
@settings_but("strict", "deep", "shows_all")
@options.common
@options.pass_reading_session
def doctor(session: Session, /, handler: str | None, shows_all: bool, strict: bool, deep: bool) -> int:
    """Check everything that a supervisor needs: kernel, limits, handler, folders, Redis, queue, collector, systemd
    unit.

    It also checks the supervisor that runs on this host. Give it the same settings as `supervisor start`. It changes
    nothing, takes a few seconds, and suggests a remedy for each finding. Checks that found nothing are only counted;
    --all and --json print them, too. The exit status is 1 if there is a problem; warnings and notes do not count.
    """
    session.flags["handler"] = handler
    findings = _findings(session, deep=deep)
    if session.json:
        output.document([asdict(finding) for finding in findings])
    else:
        _print(findings, shows_all=shows_all)
    return _status(findings, strict)


def _findings(session: Session, *, deep: bool) -> list[Finding]:
    from holdfastd.doctor import run_checks  # slow to import; `--help` does not need it

    try:
        settings = session.settings
    except ConfigError as error:
        return run_checks.run_without_settings(error.problems)
    return run_checks.run(settings, session.resolved.warnings, deep=deep)


def _status(findings: Sequence[Finding], strict: bool) -> int:
    bad = {"problem", "warning"} if strict else {"problem"}
    return Exit.FAILED if any(finding.level in bad for finding in findings) else Exit.OK


def _print(findings: Sequence[Finding], *, shows_all: bool) -> None:
    """Print the findings and one line of counts."""
    shown = [finding for finding in findings if shows_all or finding.level != "ok"]
    wide = max((len(finding.subject) for finding in shown), default=0)
    for finding in shown:
        output.hint(f"{finding.level:<8} {finding.subject:<{wide}}  {finding.look}: {finding.found}")
        if finding.fix:
            output.hint(f"{'':<8} {'':<{wide}}  -> {finding.fix}")
    counts = Counter(str(finding.level) for finding in findings)
    hidden = "" if shows_all else " (--all shows these)"
    output.text(", ".join(f"{word}: {counts[word]}" for word in ("problem", "warning", "note", "ok")) + hidden)
