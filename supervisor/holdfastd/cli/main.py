"""The entry of `supervisor`: the list of its commands, and their ending."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click
import rich_click

from holdfast.exits import Exit
from holdfastd.cli.common import options, streams
from holdfastd.cli.common.lazy_command import LazyCommand, lazy
from holdfastd.cli.common.session import Session

COMMANDS = [
    lazy("start", "Start the supervisor and its workers, in the foreground.", "supervisor.start:start"),
    lazy("demo", "See what it is for: kill its processes, lose nothing."),
    lazy("check", "Check settings and handler, without starting anything.", "supervisor.check:check"),
    lazy("doctor", "Look for what is wrong here, and say what mends it."),
    lazy("stop", "Stop the supervisor: running tasks are finished first.", "supervisor.stop:stop"),
    lazy("status", "Show the supervisor, its processes and the store.", "supervisor.status:status"),
    lazy("reload", "Replace the workers by ones that run the new code.", "supervisor.reload:reload"),
    lazy("scale", "Change how many workers run.", "supervisor.scale:scale"),
    lazy("quiet", "Have hosts claim nothing more, until they are resumed.", "hosts.quiet:quiet"),
    LazyCommand("resume", "holdfastd.cli.hosts.quiet:resume", "Let quiet hosts claim tasks again."),
    LazyCommand(
        "control", "holdfastd.cli.hosts.quiet:control", "HALT: end work and dispatch, hold pools back; RESUME."
    ),
    lazy("submit", "Submit tasks, and wait for their results if asked to.", "submit.submit:submit"),
    lazy("tasks", "List, show, cancel, pause, resume, retry, count and remove tasks.", "tasks.tasks:tasks"),
    lazy("why", "Tell what happened to a task, and what will.", "why.why:why"),
    lazy("dead", "List, show, retry and delete dead letters.", "tasks.dead:dead"),
    lazy("recover", "Put back tasks whose workers are gone.", "tasks.recover:recover"),
    lazy("events", "Show what happens to tasks and workers, as it happens.", "events.events:events"),
    lazy("schedules", "Set, list, pause and run what runs again and again.", "schedules.schedules:schedules"),
    lazy("set", "Give a job its schedule: a rule, NOW, AT:<time>, CONTINUE or STOP.", "timeline.set_job:set_"),
    lazy("unset", "Take a job out of rotation.", "timeline.unset_job:unset"),
    lazy("tell", "Tell how a job stands, as JSON.", "timeline.tell:tell"),
    lazy("statuses", "Print how jobs stand, as CSV.", "timeline.statuses:statuses"),
    lazy("work", "Run one worker in the foreground.", "timeline.work:work"),
    lazy("dispatch", "Run a steward alone: make the fires of schedules.", "timeline.dispatch:dispatch"),
    lazy("lanes", "List, pause, resume and bound lanes.", "lanes.lanes:lanes"),
    lazy("queue", "Look at the queue, clear it, delete it.", "queue.queue:queue"),
    lazy("db", "Set up the tables in PostgreSQL, and see how they stand."),
    lazy("workers", "List the workers of all hosts.", "hosts.workers:workers"),
    lazy("config", "Show the settings, and where each came from."),
    lazy("service", "Show or install the systemd unit."),
    lazy("completion", "Print the completion script of a shell."),
    lazy("version", "Print the version."),
]

EPILOG = f"""
Examples:

supervisor demo

supervisor start agent:handle --workers 8

supervisor submit hello --wait

supervisor why TASK

Signals: TERM and INT let running tasks finish and end it, a second one hastens, QUIT kills; HUP reloads, or drains
where the terminal was closed; TTIN and TTOU add and take a worker; USR1 logs its state and all stacks.

Exit status: {Exit.listed()}.

Settings come from flags, the environment (HOLDFAST_..., REDIS_URL), ./.env and ./supervisor.toml, in this order. Where
there is no supervisor.toml they come from agent_config.json in the application's folder, or from ./.redbike.conf; of
both the timeline's verbs use the latter.
"""


def _version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:  # as everybody types it
    if is_asked:
        cli.main(["version"], prog_name="supervisor", standalone_mode=False, obj=context.obj)
        context.exit()


VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version and exit.",
)
CONFIG = click.Option(
    ["-c", "--config"],
    metavar="FILE",
    help=options.CONFIG_HELP,
    expose_value=False,
    callback=options.remember,
)

cli = rich_click.RichGroup(
    name="supervisor",
    commands=COMMANDS,
    params=[VERSION, CONFIG],
    help="Keeps worker processes alive that run the tasks of a Redis queue, and loses none of the tasks.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def main() -> NoReturn:
    """Run the command that the arguments name and exit with its status."""
    streams.prepare()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """The exit status of one command; errors are told on standard error."""
    session = Session()
    try:
        _check_encoding(arguments)
        status = int(cli.main(list(arguments), prog_name="supervisor", standalone_mode=False, obj=session) or 0)
        sys.stdout.flush()
        return status
    except BaseException as error:  # the border of the process: every error ends in one line and a status
        from holdfastd.cli.common.exit_status import report  # not needed where all goes well, and slow to import

        return report(error, debug=session.debug)


def _check_encoding(arguments: Sequence[str]) -> None:
    """A shell hands over any bytes. Refuse what is not UTF-8 before a part of it is stored. Raises UsageError."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"argument {str(os.fsencode(argument[:80]))[1:]} is not UTF-8") from None
