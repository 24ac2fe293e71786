"""`supervisor service`: the systemd unit and what belongs to it, shown or installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import rich_click

from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.exit_status import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.unit import access, plan_site, systemctl
from holdfastd.unit.install import Action, InstallStep, steps, write
from holdfastd.unit.plan_site import SiteError
from holdfastd.unit.site import SETTINGS, Site
from holdfastd.unit.unit_files import files

F = TypeVar("F", bound=Callable[..., Any])


@rich_click.group(epilog="Example: sudo supervisor service install agent:handle --app-dir /srv/agent --workers 8 --now")
def service() -> None:
    """Show or install the systemd unit."""


def site_options(command: F) -> F:
    """What to run, where, as whom."""
    for field, meaning, metavar in (
        ("queue_name", "The queue, a Redis list.", "NAME"),
        ("redis_url", "The Redis to use, without its password; else the embedded store.", "URL"),
        ("concurrency", "How many tasks one worker runs at once.", "N"),
        ("workers", "How many worker processes to keep alive.", "N"),
        ("exec", "Instead of a handler: the command that runs each task.", "COMMAND"),
        ("app_dir", "The folder that the handler is imported from; else this one.", "FOLDER"),
    ):
        command = options.setting(field, meaning, metavar)(command)
    kind = click.Path(path_type=Path)
    command = click.option("--supervisor", type=kind, metavar="FILE", help="The command to run; else this one.")(
        command
    )
    command = click.option("--user", metavar="NAME", help="The user to run as; else holdfast, who is created.")(command)
    command = click.option("--instance", metavar="NAME", help="One of several services: holdfast@NAME.")(command)
    return click.argument("handler", required=False)(options.common(command))


@service.command("print", epilog="Example: supervisor service print --instance billing")
@site_options
@options.pass_session
def print_(session: Session, /, **asked: Any) -> None:
    """Print every file that `install` would write."""
    found = list(files(_site(session, asked, None)))
    if session.json:
        output.document([{"path": str(file.path), "mode": f"{file.mode:04o}", "text": file.text} for file in found])
    else:
        output.text("\n".join(f"# {file.path}\n{file.text}" for file in found).rstrip(), keep=output.LINE_END)


@service.command(
    epilog="Examples:\n\nsudo supervisor service install agent:handle --app-dir /srv/agent --workers 8 --now\n\n"
    "sudo supervisor service install agent:handle --instance billing --redis-url redis://10.0.0.5:6379/0"
)
@click.option("--now", is_flag=True, help="Start it too, and at every boot from now on.")
@click.option("--force", is_flag=True, help="Replace files that somebody has changed as well.")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@click.option(
    "--root", type=click.Path(path_type=Path), default="/", metavar="FOLDER", help="Write below it, for an image."
)
@site_options
@options.pass_session
def install(session: Session, /, now: bool, force: bool, dry_run: bool, root: Path, **asked: Any) -> None:
    """Write the unit, its user, its folders and its settings. A file that somebody has changed is kept.

    Without HANDLER it is agent:handle where the folder has an agent.py.
    """
    if now and (dry_run or root != Path("/")):
        raise click.UsageError("--now starts the service of this machine: it goes neither with --root nor --dry-run")
    root = root.absolute()
    site = _site(session, asked, root)
    todo = list(steps(files(site), root, force=force))
    if not dry_run:
        _write(todo)
    _tell(session, todo, site, now=now, dry_run=dry_run)
    if now:
        systemctl.start(site)


def _site(session: Session, asked: dict[str, Any], root: Path | None) -> Site:
    settings = {**session.flags, "handler": asked["handler"]}
    supervisor = asked["supervisor"] and asked["supervisor"].absolute()
    try:
        return plan_site.site(supervisor, asked["user"], asked["instance"], settings, root)
    except SiteError as error:
        raise CommandError(str(error), Exit.USAGE) from error


def _write(todo: Sequence[InstallStep]) -> None:
    barred = next((step.path for step in todo if step.writes and not access.may_write(step.path)), None)
    if barred is not None:
        raise CommandError(
            f"{barred} cannot be written by this user: use sudo, or see it all with `supervisor service print`",
            Exit.PERMISSION,
        )
    for step in todo:
        if step.writes:
            write(step)


def _tell(session: Session, todo: Sequence[InstallStep], site: Site, *, now: bool, dry_run: bool) -> None:
    notes = list(_notes(todo, site))
    orders = [] if now else systemctl.orders(site)
    if session.json:
        written = [{"path": str(step.path), "action": str(step.action)} for step in todo]
        output.document(
            {"dry_run": dry_run, "files": written, "notes": notes, "next": [" ".join(one) for one in orders]}
        )
        return
    for step in todo:
        output.text(f"{'would be ' if dry_run and step.writes else ''}{step.action}  {step.path}")
    for note in notes:
        output.note(note)
    if orders:
        output.text("next:\n" + "\n".join(f"  {' '.join(order)}" for order in orders), keep=output.LINE_END)
    output.text(f"then:\n  supervisor status --runtime-dir {site.runtime_dir}", keep=output.LINE_END)


def _notes(todo: Sequence[InstallStep], site: Site) -> list[str]:
    """What would keep the service from starting, or from being what was asked for."""
    notes = [
        f"{step.path} is not as it was written and is kept: --force replaces it"
        for step in todo
        if _matters(step, site)
    ]
    if not site.settings.keys() & {"handler", "exec"} and all(
        step.action is Action.WRITTEN for step in todo if step.file.once
    ):
        notes.append(f"no handler is named yet: give it here as module:attribute, or as handler in {SETTINGS}")
    return [*notes, *access.obstacles(site)]


def _matters(step: InstallStep, site: Site) -> bool:
    """Settings that were not to be changed are kept without a word."""
    return step.action is Action.KEPT and (bool(site.settings) or not step.file.once)
