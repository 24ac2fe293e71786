"""`supervisor service`: prints or installs the systemd unit with its user, folders and settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from holdfast.exits import Exit
from holdfastd.cli.common import CommandError, Session, options, output
from holdfastd.cli.common.options import Function
from holdfastd.unit import access
from holdfastd.unit.access import SETTINGS, Site
from holdfastd.unit.install import Action, InstallStep, SiteError, site, start_service, steps, systemctl_commands, write
from holdfastd.unit.unit_files import files


@options.group(epilog="Example: sudo supervisor service install agent:handlers --app-dir /srv/agent --workers 8 --now")
def service() -> None:
    """Show or install the systemd unit."""


def site_options(command: Function) -> Function:
    """Add the options of the unit: the command, its folder, its user, the queue."""
    file = click.Path(path_type=Path)
    for option in (
        options.setting("queue_name", "Name of the queue, a Redis list.", "NAME"),
        options.setting(
            "redis_url", "URL of the Redis to use, without its password. Default: the embedded store.", "URL"
        ),
        options.setting("concurrency", "Number of tasks that one worker runs at once.", "N"),
        options.setting("workers", "Number of worker processes.", "N"),
        options.setting("exec", "Command that runs each task, instead of a handler.", "COMMAND"),
        options.setting("app_dir", "Folder to import the handler from. Default: the current folder.", "FOLDER"),
        click.option(
            "--supervisor", type=file, metavar="FILE", help="The `supervisor` program to run. Default: this one."
        ),
        click.option("--user", metavar="NAME", help="User that runs the service. Default: holdfast, which is created."),
        click.option(
            "--instance", metavar="NAME", help="Name of this service if a host has several: its unit is holdfast@NAME."
        ),
        options.common,
        click.argument("handler", required=False),
    ):
        command = option(command)
    return command


@service.command(epilog="Example: supervisor service show --instance billing")
@site_options
@options.pass_session
def show(session: Session, /, **asked: Any) -> None:
    """Show every file that `install` would write."""
    unit_files = list(files(_site(session, asked, None)))
    if session.json:
        output.document(
            [{"path": str(file.path), "mode": f"{file.mode:04o}", "text": file.text} for file in unit_files]
        )
    else:
        output.text("\n".join(f"# {file.path}\n{file.text}" for file in unit_files).rstrip(), keep=output.LINE_END)


@service.command(
    epilog="Examples:\n\nsudo supervisor service install agent:handlers --app-dir /srv/agent --workers 8 --now\n\n"
    "sudo supervisor service install agent:handlers --instance billing --redis-url redis://10.0.0.5:6379/0"
)
@click.option("--now", is_flag=True, help="Start the service now and at every boot.")
@click.option("--force", is_flag=True, help="Also replace files that were edited since they were written.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    default="/",
    metavar="FOLDER",
    help="Write the files below this folder instead of /, to build an image.",
)
@site_options
@options.pass_session
def install(session: Session, /, now: bool, force: bool, dry_run: bool, root: Path, **asked: Any) -> None:
    """Write the unit, its user, its folders and its settings. A file that was edited is kept.

    Without HANDLER it uses agent:handle if the folder has an agent.py.
    """
    if now and (dry_run or root != Path("/")):
        raise click.UsageError(
            "--now starts the service on this machine: it cannot be combined with --root or --dry-run"
        )
    root = root.absolute()
    planned = _site(session, asked, root)
    todo = list(steps(files(planned), root, force=force))
    if not dry_run:
        _write(todo)
    _tell(session, todo, planned, now=now, dry_run=dry_run)
    if now:
        start_service(planned)


def _site(session: Session, asked: dict[str, Any], root: Path | None) -> Site:
    settings = {**session.flags, "handler": asked["handler"]}
    supervisor = asked["supervisor"] and asked["supervisor"].absolute()
    try:
        return site(supervisor, asked["user"], asked["instance"], settings, root)
    except SiteError as error:
        raise CommandError(str(error), Exit.USAGE) from error


def _write(todo: Sequence[InstallStep]) -> None:
    barred = next((step.path for step in todo if step.writes and not access.may_write(step.path)), None)
    if barred is not None:
        raise CommandError(
            f"{barred}: this user cannot write it: use sudo, or print all files with `supervisor service show`",
            Exit.PERMISSION,
        )
    for step in todo:
        if step.writes:
            write(step)


def _tell(session: Session, todo: Sequence[InstallStep], site: Site, *, now: bool, dry_run: bool) -> None:
    notes = list(_notes(todo, site))
    orders = [] if now else systemctl_commands(site)
    if session.json:
        written = [{"path": str(step.path), "action": str(step.action)} for step in todo]
        output.document(
            {"dry_run": dry_run, "files": written, "notes": notes, "next": [" ".join(each) for each in orders]}
        )
        return
    for step in todo:
        output.text(f"{'would be ' if dry_run and step.writes else ''}{step.action}  {step.path}")
    for note in notes:
        output.note(note)
    if orders:
        output.text("next:\n" + "\n".join(f"  {' '.join(order)}" for order in orders), keep=output.LINE_END)
    output.hint(f"then:\n  supervisor status --runtime-dir {site.runtime_dir}", keep=output.LINE_END)


def _notes(todo: Sequence[InstallStep], site: Site) -> list[str]:
    """Warnings: kept files, a missing handler, and other problems that would keep the service from starting."""
    notes = [f"{step.path} was edited and is kept: --force replaces it" for step in todo if _matters(step, site)]
    if not site.settings.keys() & {"handler", "exec"} and all(
        step.action is Action.WRITTEN for step in todo if step.file.once
    ):
        notes.append(f"no handler is set: give it to this command as module:attribute, or set handler in {SETTINGS}")
    return [*notes, *access.obstacles(site)]


def _matters(step: InstallStep, site: Site) -> bool:
    """True for a kept file that the user should know of; settings files that need no change do not count."""
    return step.action is Action.KEPT and (bool(site.settings) or not step.file.once)
