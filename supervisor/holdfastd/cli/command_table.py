"""The table of the commands of `supervisor`: each is imported only when it is called, so that `--help` starts fast."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich_click import RichCommand, RichGroup

from holdfast.exits import Exit
from holdfastd.cli.common import options
from holdfastd.cli.common.output import NAMES, as_called, command_name


class LazyCommand(RichCommand):
    """A placeholder for the command `module:attribute`, with the one line that the group's help shows."""

    def __init__(self, name: str, target: str, summary: str, *, hidden: bool = False) -> None:
        super().__init__(name=name, help=as_called(summary), add_help_option=False, hidden=hidden)
        self.target = target

    def load(self) -> click.Command:
        gc.enable()
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return named_as_called(command)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return self.load().make_context(info_name, args, parent, **extra)


def named_as_called(command: click.Command) -> click.Command:
    """Put the name by which this program was called (`supervisor` or `holdfast`) into the help of the command and its
    subcommands. Returns the command."""
    if command_name() != NAMES[0]:
        command.help, command.epilog = as_called(command.help or ""), as_called(command.epilog or "")
        for inner in command.commands.values() if isinstance(command, click.Group) else ():
            if not isinstance(inner, LazyCommand):
                named_as_called(inner)
    return command


def lazy(name: str, summary: str, target: str | None = None) -> LazyCommand:
    """A placeholder for the command `name`. `target`: its `module:attribute` below this package. Default:
    `name:name`."""
    return LazyCommand(name, f"holdfastd.cli.{target or f'{name}:{name}'}", summary)


# The commands as `supervisor --help` lists them, by what a user wants to do.

LISTED: Mapping[str, Sequence[LazyCommand]] = {
    "Run": (
        lazy("start", "Start the supervisor and its workers, in the foreground."),
        lazy("stop", "Stop the supervisor after its running tasks have finished.", "control_commands:stop"),
        lazy("reload", "Replace the workers by new ones that run the new code.", "control_commands:reload"),
        lazy("scale", "Change the number of workers.", "host_commands:scale"),
        lazy("web", "Serve the dashboard of the queue to browsers.", "web_commands:web"),
        lazy("demo", "Run a demonstration: processes are killed, and no task is lost."),
    ),
    "Work": (
        lazy("submit", "Submit tasks and, if wanted, wait for their results.", "submit.submit:submit"),
        lazy(
            "tasks",
            "List, show, follow, cancel, pause, resume, retry, count and remove tasks, and list their errors.",
            "tasks.list_and_show:tasks",
        ),
        lazy("batches", "List, show, seal and cancel batches of tasks.", "batch_commands:batches"),
        lazy(
            "schedules",
            "Set, list, show, pause, run and remove schedules of recurring tasks.",
            "schedules.schedules:schedules",
        ),
        lazy("timeline", "Set and run jobs on a timeline, each with a schedule.", "timeline_commands:timeline"),
    ),
    "Look": (
        lazy("status", "Show the supervisor, its processes and the store.", "supervisor_status:status"),
        lazy("top", "Show on one screen what runs, refreshed twice a second.", "top.top:top"),
        lazy("why", "Show what happened to a task and what will happen next.", "why_command:why"),
        lazy("stats", "Show rates, failures and times of the last hours or days.", "stats_command:stats"),
        lazy("events", "Show the events of tasks and workers, past or live.", "event_commands:events"),
        lazy("stacks", "Show the lines of code at which the tasks of this host are now.", "host_commands:stacks"),
        lazy("workers", "List the workers of all hosts.", "host_commands:workers"),
    ),
    "Change": (
        lazy("lanes", "List, show, pause and resume lanes, and set their limits.", "lane_commands:lanes"),
        lazy("quiet", "Let hosts claim no more tasks until `supervisor resume`.", "host_commands:quiet"),
        lazy("resume", "Let quiet hosts claim tasks again.", "host_commands:resume"),
        lazy("dead", "List, show, retry and remove dead letters.", "tasks.dead:dead"),
        lazy("webhooks", "List undelivered webhooks, try them again, give them up.", "webhook_commands:webhooks"),
        lazy("queue", "Inspect, clear or delete the queue.", "queue.queue:queue"),
        lazy("recover", "Put tasks of lost workers back into the queue.", "queue.queue:recover"),
    ),
    "Set up": (
        lazy("init", "Write a handler, its settings and a test to begin with.", "init_command:init"),
        lazy("check", "Check the settings and the handler without starting anything.", "start:check"),
        lazy("doctor", "Find problems of this installation and suggest a remedy for each."),
        lazy("config", "Show the settings and the origin of each."),
        lazy("service", "Show or install the systemd unit."),
        lazy("web-user", "Print a line for the users file of the dashboard.", "web_commands:web_user"),
        lazy("store", "List and move the data of the projects' embedded stores.", "store_commands:store"),
        lazy("db", "Create and check the tables in PostgreSQL."),
        lazy("completion", "Print the completion script for a shell."),
        lazy("version", "Print the version.", "version_command:version"),
        lazy("help", "Show the help of a command: `supervisor help tasks list`.", "version_command:help_"),
    ),
}

# The commands of `supervisor timeline`. Each is also a command of its own, as the timeline scheduler Redbike has it.

TIMELINE = (
    lazy("set", "Set the schedule of a job: a rule, NOW, AT:<time>, CONTINUE or STOP.", "timeline_commands:set_"),
    lazy("unset", "Remove a job and its schedule.", "timeline_commands:unset"),
    lazy("tell", "Print the status of a job as JSON.", "timeline_commands:tell"),
    lazy("statuses", "Print the status of all jobs as CSV.", "timeline_commands:statuses"),
    lazy("work", "Run one worker in the foreground.", "timeline_commands:work"),
    lazy("dispatch", "Run one steward in the foreground: it fires schedules.", "timeline_commands:dispatch"),
    lazy(
        "control",
        "End all work and dispatch processes (HALT), or let hosts claim tasks again (RESUME).",
        "host_commands:control",
    ),
)

COMMANDS = [
    *(command for commands in LISTED.values() for command in commands),
    *(LazyCommand(str(each.name), each.target, str(each.help), hidden=True) for each in TIMELINE),
]

EPILOG = f"""
Examples: supervisor demo; supervisor start agent:handlers --workers 8; supervisor submit --wait --name greet
--data '{{"name": "Bo"}}'

Exit status: {Exit.listed()}.
"""


def _version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:  # most programs have it
    if is_asked:
        cli.main(["version"], prog_name=context.info_name, standalone_mode=False, obj=context.obj)
        context.exit()


VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version and exit.",
)
CONFIG, RUNTIME_DIR = (
    click.Option(names, metavar=metavar, help=meaning, expose_value=False, callback=options.remember)
    for names, metavar, meaning in (
        (["-c", "--config"], "FILE", options.CONFIG_HELP),
        (["--runtime-dir"], "FOLDER", options.RUNTIME_DIR_HELP),
    )
)


class CommandTable(RichGroup):
    """The group of all commands."""

    def get_help(self, ctx: click.Context) -> str:
        """The help text. On a terminal rich draws it; elsewhere click writes it, because to import rich takes
        longer."""
        if sys.stdout.isatty():
            return super().get_help(ctx)
        formatter = click.HelpFormatter(width=ctx.max_content_width)
        click.Command.format_usage(self, ctx, formatter)
        click.Command.format_help_text(self, ctx, formatter)
        click.Command.format_options(self, ctx, formatter)
        self._write_commands(formatter)
        click.Command.format_epilog(self, ctx, formatter)
        return formatter.getvalue().rstrip("\n")

    @staticmethod
    def _write_commands(formatter: click.HelpFormatter) -> None:
        widest = max(len(str(command.name)) for commands in LISTED.values() for command in commands)
        for heading, commands in LISTED.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{command.name:<{widest}}", str(command.help)) for command in commands])


# Sets the version of click. Otherwise click searches the metadata of packages for it: a fifth of the time of `--help`.

_FOLDER = re.compile(r"click-(\d+\.\d+\.\d+.*)\.dist-info")


def set_version() -> None:
    """Set `click.__version__` from the name of the folder `click-<version>.dist-info`. If there is no such folder,
    click looks for its version itself."""
    if "__version__" in vars(click):
        return
    with suppress(OSError):
        for entry in Path(click.__file__).parents[1].iterdir():
            if found := _FOLDER.fullmatch(entry.name):
                setattr(click, "__version__", found[1])  # noqa: B010 - the stub of click has no attribute to assign to
                return


set_version()
cli = CommandTable(
    name="supervisor",
    commands=COMMANDS,
    params=[VERSION, CONFIG, RUNTIME_DIR],
    help="Runs worker processes for the tasks of a Redis queue, restarts them when they die, and loses no task.",
    epilog=EPILOG,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 120,
        "rich_help_config": {
            "command_groups": {
                "*": [{"name": name, "commands": [each.name for each in commands]} for name, commands in LISTED.items()]
            }
        },
    },
)
named_as_called(cli)
