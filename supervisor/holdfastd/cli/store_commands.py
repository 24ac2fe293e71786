"""`supervisor store`: the data of the embedded stores of this user's projects."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.exits import Exit
from holdfast_config.service_folders import Project
from holdfastd.cli.common import CommandError, Session, options, tables
from holdfastd.embedded import project_data
from holdfastd.embedded.project_data import DataMoveError, ProjectData

COLUMNS = ("project", "state", "MiB", "folder")
FIT = tables.TableFit(texts=("folder",), drop=("MiB",))
NAMED = "the state folder {} is named by {}: remove this setting first, data is moved only between default folders"


@options.group(epilog="Example: supervisor store list")
def store() -> None:
    """List and move the data of embedded stores: each project has its own."""


@store.command("list", epilog="Example: supervisor store list --json")
@options.wide
@options.here
@options.pass_session
def list_(session: Session, /) -> None:
    """List the projects that have data on this machine, and whether their supervisor runs.

    A project is the folder of supervisor.toml, else that of agent.py, else the folder in which `supervisor start` was
    called. The state `gone` means that this folder was removed or renamed.
    """
    found = [_document(data) for data in project_data.of_all()]
    tables.answer(session, found, COLUMNS, (tuple(each.values()) for each in found), FIT)


@store.command(epilog="Example: supervisor store move --from ~/former/project --set-aside")
@click.option("--from", "former", metavar="FOLDER", required=True, help="The path that this project had.")
@click.option(
    "--set-aside", is_flag=True, help="If this project has data already, keep it in a folder beside the moved data."
)
@options.here
@options.pass_session
def move(session: Session, /, former: str, set_aside: bool) -> int:
    """Move the data of a project that was renamed: from its former path to this project.

    No supervisor may run for either path. The data is moved at once or not at all, so you may repeat the command.
    """
    settings = session.settings
    assert settings.project is not None
    if settings.state_folder.named:
        key = session.resolved.origins["state_dir"].key
        raise CommandError(NAMED.format(settings.state_dir, key), Exit.CONFIG)
    target = project_data.of(settings.project)
    source = project_data.of(Project.at(Path(former).expanduser()))
    if source.state == target.state:
        raise CommandError(
            f"--from {former}: this is the present path of the project: name its former path", Exit.USAGE
        )
    try:
        done = [*project_data.steps(source, target, set_aside=set_aside)]
    except DataMoveError as error:
        raise CommandError(str(error), error.code) from error
    session.answer({"from": str(source.state), "to": str(target.state), "done": done}, *done)
    return Exit.OK


def _document(data: ProjectData) -> dict[str, object]:
    state = "running" if data.is_running else "gone" if data.is_former else "stopped"
    size = round(data.size / 2**20, 1)
    return {"project": str(data.project.path), "state": state, "MiB": size, "folder": str(data.state)}
