"""`supervisor schedules`: the group of its commands, and the list of all schedules."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_definition import ScheduleSpec, define, read_spec
from holdfast.client.schedules import Schedules
from holdfast.core.cadence import Cadence, Cron, RecurrenceRule, restored, words
from holdfast.core.cadence.moments import read_moment
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfast.core.schedules import series
from holdfast.errors import InvalidScheduleError
from holdfast.exits import Exit
from holdfast_config import Settings
from holdfastd.cli.common import Session, options, output, parameters, tables
from holdfastd.cli.common.store_session import (
    Store,
    command_of,
    converse,
    given_of,
    manage,
    manager_of,
    operate,
    retries_of,
)
from holdfastd.documents import printed_times
from holdfastd.documents.printed_times import utc
from holdfastd.documents.queue_documents import occurrence_document, schedule_document
from holdfastd.operations import schedules as acts
from holdfastd.operations.reading import description_of
from holdfastd.operations.submit_tasks import HandlerCalls, Unchecked

# The options for the times and the task of a schedule, as one ScheduleSpec.

_TIMES = (
    ("cron", "A cron expression: '0 2 * * *', @daily; six fields begin with seconds."),
    ("every", "An interval: 90, 5m, 1h30m, PT5M."),
    ("rrule", "A recurrence rule of RFC 5545: FREQ=WEEKLY;BYDAY=MO."),
    ("at", "A single time: 2030-01-31T12:00:00 or Unix seconds."),
    ("timezone", "Time zone of local times, such as Europe/Berlin. Default: UTC."),
    ("anchor", "Time from which --every counts. Default: now."),
    ("start", "No fire before this time."),
    ("end", "No fire after this time."),
    ("jitter", "Delay each fire by up to this duration."),
    ("overlap", "What to do if the previous task has not ended: forbid, allow, queue-one or replace."),
    ("misfire", "Missed fires to run: latest, skip (none), or all:N (up to N)."),
    ("start_deadline", "Skip a fire that is late by more than this duration."),
    ("on_failure", "What the schedule does after a failed task: continue or stop."),
    ("backoff", "Pause before a failed task runs again, doubled each time. With CONTINUE: pause after each run."),
    ("owner", "Owner of the schedule. `schedules apply` with a file of this owner may delete the schedule."),
)

when = options.together(
    *(click.option(options.flag(name), name, metavar="VALUE", help=meaning) for name, meaning in _TIMES),
    click.option("--limit", type=int, metavar="N", help="Maximum number of fires."),
)
what = options.together(
    click.option("--name", help="Name of the registered handler to call."),
    click.option(
        "--data", type=parameters.JSON, help="JSON value for the handler; with --name, an object with its arguments."
    ),
    click.option("--metadata", type=parameters.JSON, help="Metadata of the schedule's tasks, a JSON object."),
    click.option("--lane", help="Lane of the schedule's tasks. Default: the queue itself."),
    click.option("--max-attempts", type=int, metavar="N", help="Maximum number of runs of a task that fails."),
    click.option("--timeout", metavar="DURATION", help="Maximum time of one run: 90, 5m."),
    click.option(
        "--expires", metavar="DURATION", help="Cancel a task if no worker claims it within this time after its fire."
    ),
    click.option("--unique", metavar="KEY", help="Skip a fire while a task with this key has not ended."),
    click.option(
        "--unique-for",
        metavar="DURATION",
        help="With --unique: skip fires for this time instead, even after that task has ended.",
    ),
    click.option("--concurrency-key", help="Run only one task with this key at a time."),
    click.option("--webhook", metavar="URL", help="URL to notify when a task ends or asks for input."),
)
_unchecked = click.option("--unchecked", is_flag=True, help=description_of(Unchecked))
limit_option = parameters.limit_option(10_000, "Maximum number of lines to show.", metavar="N")


# `supervisor schedules next` and `history`: the fires of a schedule.

FIRES_COLUMNS = ("at (UTC)", "what", "scheduled for", "task", "detail")
FIRES_FIT = tables.TableFit(("task",), ("detail",), drop=("scheduled for", "detail"))


@options.command(
    "next",
    epilog="Examples:\n\nsupervisor schedules next nightly --count 3\n\n"
    "supervisor schedules next --cron '30 2 * * *' --timezone America/New_York --after 2027-03-13",
)
@click.argument("schedule_id", metavar="[ID]", required=False)
@click.option(
    "--count", type=click.IntRange(1, 1000), default=5, show_default=True, metavar="N", help="Number of fires to show."
)
@click.option("--after", help="Show the moments after this time. Default: now.", metavar="TIME")
@click.option("--schedule", help="AT:<time>, or a recurrence rule.")
@when
@options.reading
def next_(session: Session, /, schedule_id: str | None, count: int, after: str | None, **given: Any) -> None:
    """Show the next fires of a schedule, or of times given by options, in its time zone and in UTC."""
    if schedule_id is not None:
        cadence, timezone, moments = _of_stored(session, schedule_id, count, after, given)
    else:
        spec = read_spec(parameters.with_arguments({**given, "text": "preview"}))
        timezone = spec.timezone
        now = round(time.time() * 1000)
        moment = now if after is None else read_moment(after, timezone)
        defined = define("preview", spec, moment, moment)
        cadence = restored(defined.definition.cadence)
        moments = tuple(islice(series(defined.definition.schedule(), defined.expected), count))
    text = words(cadence)
    if isinstance(cadence, Cron | RecurrenceRule) and cadence.timezone != "UTC":
        timezone = cadence.timezone  # the rule names it as CRON_TZ or TZID
    rows = [(printed_times.zoned(moment, timezone), printed_times.utc(moment)) for moment in moments]
    if session.json:
        output.document({"words": text, "timezone": timezone, "next": [{"local": a, "utc": b} for a, b in rows]})
        return
    output.text(text)
    tables.table((timezone, "UTC"), rows)


def _of_stored(
    session: Session, schedule_id: str, count: int, after: str | None, given: dict[str, Any]
) -> tuple[Cadence, str, tuple[int, ...]]:
    if any(value is not None for value in given.values()):
        raise click.UsageError("give either the ID of a schedule or options for the times, not both")

    async def work(manager: Any) -> tuple[Cadence, str, tuple[int, ...]]:
        schedules: Schedules = manager.schedules
        definition = (await schedules.get(schedule_id)).definition
        moment = None if after is None else read_moment(after, definition.timezone)
        moments = await schedules.preview(schedule_id, count, moment)
        return restored(definition.cadence), definition.timezone, moments

    return manage(session, work)


@options.command(epilog="Example: supervisor schedules history nightly --limit 20")
@click.argument("schedule_id", metavar="ID")
@limit_option
@options.reading
def history(session: Session, /, schedule_id: str, limit: int) -> None:
    """Show the history of a schedule's fires, newest first. The last hundred lines are kept."""

    async def work(manager: TaskManager) -> tuple[Occurrence, ...]:
        lines = await manager.schedules.history(schedule_id, limit)
        if not lines:  # every known schedule has at least one line, which says that it was set
            await manager.schedules.get(schedule_id)
        return lines

    lines = manage(session, work)
    documents = [occurrence_document(line) for line in lines]
    tables.answer(session, documents, FIRES_COLUMNS, (tuple(line.values()) for line in documents), FIRES_FIT)


# `supervisor schedules set`, `show`, `remove`, `run`, `pause` and `resume`: one schedule.


@options.command(
    "set",
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --timezone Europe/Berlin --name close\n\n"
    "supervisor schedules set sweep sweep --every 5m --overlap queue-one",
)
@click.argument("schedule_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--schedule", help="NOW, AT:<time>, CONTINUE, STOP or a recurrence rule.")
@click.option("--after", help="Skip fires up to this time. Default: now.", metavar="TIME")
@_unchecked
@what
@when
@options.changing
def set_(session: Session, /, schedule_id: str, after: str | None, unchecked: bool, **given: Any) -> None:
    """Set or change a schedule. Repeating the same command changes nothing, but restarts a schedule that has ended."""
    spec = read_spec(parameters.with_arguments(given))
    values = given_of({"schedule_id": schedule_id, "spec": spec, "after": after, "unchecked": unchecked})
    put = operate(session, acts.SET_SCHEDULE, values)
    session.answer(put, f"{schedule_id}: {put['word']}, next {put['next'] or 'never'}")


def _word(answer: acts.ScheduleWord) -> str:
    return f"{answer['schedule']}: {answer['word']}"


_id = {"schedule_id": click.argument("schedule_id", metavar="ID")}
_until = {"until": click.option("--until", help="Resume automatically at this time (UTC).", metavar="TIME")}
remove = command_of(acts.REMOVE_SCHEDULE, "remove", _word, "Example: supervisor schedules remove nightly", own=_id)
run = command_of(
    acts.RUN_SCHEDULE, "run", lambda answer: answer["task_id"], "Example: supervisor schedules run nightly", own=_id
)
pause = command_of(
    acts.PAUSE_SCHEDULE,
    "pause",
    _word,
    "Example: supervisor schedules pause nightly --reason 'year end' --until 2027-01-04",
    own={**_id, **_until},
)
resume = command_of(acts.RESUME_SCHEDULE, "resume", _word, "Example: supervisor schedules resume nightly", own=_id)


@options.command(epilog="Example: supervisor schedules show nightly")
@click.argument("schedule_id", metavar="ID")
@options.reading
def show(session: Session, /, schedule_id: str) -> None:
    """Show a schedule in full."""
    answer = schedule_document(manage(session, lambda manager: manager.schedules.get(schedule_id)))
    if session.json:
        output.document(answer)
        return
    for name, value in answer.items():
        if value is not None:
            output.text(f"{name:<12} {output.readable(value)}")


# Schedules declared in a file, and the changes that make the stored schedules of their owner equal to them.
#
#     owner = "billing"                       # default: the name of the file
#
#     [schedules.nightly]
#     cron = "0 2 * * *"
#     timezone = "Europe/Berlin"
#     name = "billing.close_day"
#
# Only schedules of this owner are ever deleted.


def read_file(path: Path) -> acts.OwnedSchedules:
    """The schedules of a TOML file, or of a JSON file if its name ends in .json. Raises InvalidScheduleError with the
    file and the error in it."""
    content = _content(path)
    if unknown := content.keys() - {"owner", "schedules"}:
        raise InvalidScheduleError(
            f"{path}: the key {sorted(unknown)[0]!r} is unknown; allowed are owner and [schedules.ID]"
        )
    if "schedules" not in content:  # a truncated or wrong file would delete all schedules of the owner
        raise InvalidScheduleError(
            f"{path}: no [schedules.ID]; to delete all schedules of the owner, write an empty table [schedules]"
        )
    if not isinstance(content["schedules"], dict):
        raise InvalidScheduleError(f"{path}: schedules must be tables [schedules.ID]")
    owner = content.get("owner", path.stem)
    if not isinstance(owner, str) or not owner:
        raise InvalidScheduleError(f"{path}: owner is {owner!r}; it must be a text that is not empty")
    specs = cast("dict[str, Any]", content["schedules"])
    return acts.OwnedSchedules(owner, {name: _spec(path, name, each, owner) for name, each in specs.items()})


def _content(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
        parsed = json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidScheduleError(f"{path}: cannot be read: {reason}") from None
    if not isinstance(parsed, dict):
        raise InvalidScheduleError(f"{path}: schedules must be tables [schedules.ID]")
    return cast("dict[str, Any]", parsed)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object as a dict. Raises ValueError if a name is there twice, as the parser of TOML does by
    itself."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} appears twice")
    return members


def _spec(path: Path, name: str, values: Any, owner: str) -> ScheduleSpec:
    if not isinstance(values, dict):
        raise InvalidScheduleError(f"{path}: schedules.{name} must be a table")
    fields = {"owner": owner, **cast("dict[str, Any]", values)}
    if fields["owner"] != owner:
        raise InvalidScheduleError(
            f"{path}: schedules.{name}: its owner is {fields['owner']!r}, but the owner of the file is {owner!r}"
        )
    try:
        return read_spec(fields)
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{path}: schedules.{name}: {error}") from None


_file = click.argument("file", type=click.Path(path_type=Path))


@options.command(epilog="Example: supervisor schedules diff schedules.toml")
@_file
@options.reading
def diff(session: Session, /, file: Path) -> int:
    """Show the changes that `apply` would make. Exit status 1 if there are any, 2 if the file is invalid."""
    declared = read_file(file)
    with _named(file):
        changes = converse(session, lambda store: _difference(store, session.settings, declared))
    session.answer(changes, *_lines(changes))
    return Exit.FAILED if _changed(changes) else Exit.OK


async def _difference(store: Store, settings: Settings, declared: acts.OwnedSchedules) -> acts.ScheduleDifference:
    retries = retries_of(settings)
    schedules = manager_of(store, settings, retries).schedules
    calls = HandlerCalls(store, settings.queue_name, retries, unchecked=True)
    return await acts.difference(schedules, await acts.checked(schedules, calls, declared))


@options.command(help=acts.APPLY_SCHEDULES.help, epilog="Example: supervisor schedules apply schedules.toml")
@_file
@_unchecked
@options.changing
def apply(session: Session, /, file: Path, unchecked: bool) -> None:
    declared = read_file(file)
    with _named(file):
        changes = operate(session, acts.APPLY_SCHEDULES, msgspec.structs.asdict(declared) | {"unchecked": unchecked})
    session.answer(changes, *_lines(changes))


@contextmanager
def _named(file: Path) -> Generator[None]:
    """A context manager: an InvalidScheduleError that is raised in its block gets the name of the file into its
    text."""
    try:
        yield
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{file}: {error}") from None


def _changed(changes: acts.ScheduleDifference) -> list[tuple[str, str]]:
    """The change for each schedule that must change."""
    named = (("create", changes["create"]), ("change", changes["change"]), ("prune", changes["prune"]))
    return [(word, name) for word, names in named for name in names]


def _lines(changes: acts.ScheduleDifference) -> list[str]:
    lines = [f"{word:<7} {name}" for word, name in _changed(changes)]
    return lines or [f"no changes: {len(changes['same'])} as declared"]


# Schedules as the command line shows them: cells of tables.

FIT = tables.TableFit(texts=("cadence", "owner"), drop=("failures", "owner", "fires", "cadence"))
COLUMNS = ("schedule", "next (UTC)", "state", "fires", "failures", "owner", "cadence")


def cells(record: ScheduleRecord) -> tuple[object, ...]:
    definition = record.definition
    return (
        definition.schedule_id,
        utc(record.expected) or "-",
        state(record),
        record.fires,
        record.streak,
        definition.owner or "-",
        words(restored(definition.cadence)),
    )


def state(record: ScheduleRecord) -> str:
    if record.paused:
        return f"paused: {record.paused}"
    return f"ended: {record.ended}" if record.ended else "active"


@options.group(
    invoke_without_command=True,
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --name billing.close_day\n\n"
    "supervisor schedules --csv > jobs.csv",
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print JOBID,SCHEDULE for each schedule that `supervisor set` can set."
)
@options.timeline
@click.pass_context
def schedules(context: click.Context, session: Session, /, as_csv: bool) -> None:
    """Set, list, pause, run and remove schedules. Without a command it lists them."""
    if context.invoked_subcommand is not None:
        if as_csv:
            raise click.UsageError("--csv prints all schedules and cannot be combined with a command")
    elif as_csv:
        from holdfastd.cli.timeline_commands import print_schedules  # rarely needed

        print_schedules(session)
    else:
        context.invoke(list_)


@schedules.command("list", epilog="Example: supervisor schedules list --json")
@click.option("--cursor", default="", help="Continue after an earlier page: the cursor that it printed.")
@limit_option
@options.listing
def list_(session: Session, /, limit: int, cursor: str) -> None:
    """List schedules in the order of their next fires."""
    page = manage(session, lambda manager: manager.schedules.list(limit, cursor))
    if session.json:
        unreadable = {each.schedule_id: each.why for each in page.spoilt}
        listed = [schedule_document(each) for each in page.schedules]
        output.document({"schedules": listed, "unreadable": unreadable, "cursor": page.cursor})
        return
    tables.table(COLUMNS, [cells(each) for each in page.schedules], FIT, wide=session.wide)
    for each in page.spoilt:
        output.note(f"schedule {each.schedule_id}: {each.why}; remove it and set it again")
    if page.cursor:
        output.note(f"there may be more: --cursor {page.cursor}")


for command in (set_, remove, show, pause, resume, next_, history, run, diff, apply):
    schedules.add_command(command)
