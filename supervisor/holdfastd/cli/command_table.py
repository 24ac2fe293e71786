"""The table of the commands of `supervisor`."""

from __future__ import annotations

import sys

import click
import rich_click

from holdfast.exits import Exit
from holdfastd.cli.common import options
from holdfastd.cli.common.lazy_command import LazyCommand, lazy, named_as_called, set_version

COMMANDS = [
    lazy("start", "Start the supervisor and its workers, in the foreground."),
    lazy("demo", "Run a demonstration: processes are killed, and no task is lost."),
    lazy("init", "Write a handler, its settings and a test to begin with.", "init_command:init"),
    lazy("check", "Check the settings and the handler without starting anything."),
    lazy("doctor", "Find problems of this installation and suggest a remedy for each."),
    lazy("stop", "Stop the supervisor after its running tasks have finished.", "control_commands:stop"),
    lazy("status", "Show the supervisor, its processes and the store.", "supervisor_status:status"),
    lazy("reload", "Replace the workers by new ones that run the new code.", "control_commands:reload"),
    lazy("scale", "Change the number of workers.", "host_commands:scale"),
    lazy("quiet", "Let hosts claim no more tasks until `supervisor resume`.", "host_commands:quiet"),
    LazyCommand("resume", "holdfastd.cli.host_commands:resume", "Let quiet hosts claim tasks again."),
    LazyCommand(
        "control",
        "holdfastd.cli.host_commands:control",
        "End all work and dispatch processes (HALT), or let hosts claim tasks again (RESUME).",
    ),
    lazy("submit", "Submit tasks and, if wanted, wait for their results.", "submit.submit:submit"),
    lazy("tasks", "List, show, follow, cancel, pause, resume, retry, count and remove tasks.", "tasks.tasks:tasks"),
    lazy("batches", "List, show, seal and cancel batches of tasks.", "batch_commands:batches"),
    lazy("why", "Show what happened to a task and what will happen next.", "why_command:why"),
    lazy("dead", "List, show, retry and remove dead letters.", "tasks.dead:dead"),
    lazy("recover", "Put tasks of lost workers back into the queue.", "tasks.recover:recover"),
    lazy("events", "Show the events of tasks and workers, past or live.", "event_commands:events"),
    lazy("stats", "Show rates, failures and times of the last hours or days.", "stats_command:stats"),
    lazy("web", "Serve the dashboard of the queue to browsers.", "web_commands:web"),
    LazyCommand("web-user", "holdfastd.cli.web_commands:web_user", "Print the line of a user of the dashboard."),
    lazy("top", "Show on one screen what runs, refreshed twice a second.", "top.top:top"),
    lazy(
        "schedules",
        "Set, list, show, pause, run and remove schedules of recurring tasks.",
        "schedules.schedules:schedules",
    ),
    lazy("set", "Set the schedule of a job: a rule, NOW, AT:<time>, CONTINUE or STOP.", "timeline_commands:set_"),
    lazy("unset", "Remove a job and its schedule.", "timeline_commands:unset"),
    lazy("tell", "Print the status of a job as JSON.", "timeline_commands:tell"),
    lazy("statuses", "Print the status of all jobs as CSV.", "timeline_commands:statuses"),
    lazy("work", "Run one worker in the foreground.", "timeline_commands:work"),
    lazy("dispatch", "Run one steward in the foreground: it fires schedules.", "timeline_commands:dispatch"),
    lazy("lanes", "List, show, pause and resume lanes, and set their limits.", "lane_commands:lanes"),
    lazy("queue", "Inspect, clear or delete the queue.", "queue.queue:queue"),
    lazy("store", "List and move the data of the projects' embedded stores.", "store_commands:store"),
    lazy("db", "Create and check the tables in PostgreSQL."),
    lazy("workers", "List the workers of all hosts.", "host_commands:workers"),
    lazy("config", "Show the settings and the origin of each."),
    lazy("service", "Show or install the systemd unit."),
    lazy("completion", "Print the completion script for a shell."),
    lazy("version", "Print the version.", "version_command:version"),
]

EPILOG = f"""
Examples:

supervisor demo

supervisor start agent:handle --workers 8

supervisor submit hello --wait

supervisor why TASK

Signals: TERM and INT stop the supervisor after running tasks have finished; a second one cancels these tasks; QUIT
kills at once. HUP reloads, or stops if the terminal was closed. TTIN adds a worker and TTOU removes one. USR1 logs the
state and all stacks.

Exit status: {Exit.listed()}.

Settings come from flags, the environment (HOLDFAST_..., REDIS_URL), ./.env and ./supervisor.toml, in this order.
Without a supervisor.toml they come from agent_config.json in the application's folder, or from ./.redbike.conf. If
both exist, the timeline commands (set, unset, tell, statuses, control, work, dispatch, schedules) use .redbike.conf.
"""


def _version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:  # as everybody types it
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
CONFIG = click.Option(
    ["-c", "--config"],
    metavar="FILE",
    help=options.CONFIG_HELP,
    expose_value=False,
    callback=options.remember,
)


class CommandTable(rich_click.RichGroup):
    """The group of all commands."""

    def get_help(self, ctx: click.Context) -> str:
        """For a terminal rich writes it; else click, as to import rich takes longer than to import click."""
        if sys.stdout.isatty():
            return super().get_help(ctx)
        formatter = click.HelpFormatter(width=ctx.max_content_width)
        click.Command.format_usage(self, ctx, formatter)
        click.Command.format_help_text(self, ctx, formatter)
        click.Command.format_options(self, ctx, formatter)
        click.Group.format_commands(self, ctx, formatter)
        click.Command.format_epilog(self, ctx, formatter)
        return formatter.getvalue().rstrip("\n")


set_version()
cli = CommandTable(
    name="supervisor",
    commands=COMMANDS,
    params=[VERSION, CONFIG],
    help="Runs worker processes for the tasks of a Redis queue, restarts them when they die, and loses no task.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
named_as_called(cli)
