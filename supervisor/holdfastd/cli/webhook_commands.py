"""`supervisor webhooks`: lists webhooks that wait or were given up, tries them again, gives them up."""

from __future__ import annotations

import click

from holdfast.core.webhook_notice import GivenUpNotice, Outbox
from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfastd.cli.common import Session, options, output, parameters, tables
from holdfastd.cli.common.store_session import (
    LONG_RETRIES,
    Store,
    ask,
    command_of,
    converse,
    operate,
    operate_each,
    refusals,
)
from holdfastd.documents.queue_documents import GivenUpDocument, WebhookDocument, outbox_document
from holdfastd.operations.error_statuses import exit_of
from holdfastd.operations.webhooks import GIVE_UP_WEBHOOK, RETRY_ALL_WEBHOOKS, RETRY_WEBHOOK

COLUMNS = ("webhook", "is", "tries", "next try (UTC)", "to", "why the last try failed")
FIT = tables.TableFit(texts=("to", "why the last try failed"), drop=("next try (UTC)", "to"))
WHICH = "name webhooks as `supervisor webhooks` lists them, in quotation marks, or give --all"
limit_option = parameters.limit_option(1000, "Maximum number of webhooks of each kind.", 100)


@options.group(invoke_without_command=True, epilog="Example: supervisor webhooks retry --all")
@limit_option
@options.wide
@options.changing
@click.pass_context
def webhooks(context: click.Context, _: Session, /, limit: int) -> None:
    """List webhooks that wait to be delivered, and the last ones that were given up. Try them again, or give them
    up."""
    if context.invoked_subcommand is None:
        context.invoke(list_, limit=limit)


@webhooks.command("list", epilog="Example: supervisor webhooks list --json")
@limit_option
@options.listing
def list_(session: Session, /, limit: int) -> None:
    """List webhooks with the number of tries, and why the last one failed. `supervisor webhooks` alone does the
    same."""

    async def look(store: Store) -> tuple[Outbox, list[GivenUpNotice]]:
        return await store.outbox(0, limit), await store.given_up(limit)

    document = outbox_document(*ask(session, look))
    rows = [*map(_waiting, document["webhooks"]), *map(_given_up, document["given_up"])]
    tables.answer(session, document, COLUMNS, rows, FIT)
    if (more := document["total"] - len(document["webhooks"])) and not session.json:
        output.note(f"{more} more wait: --limit {limit * 10}")


def _waiting(each: WebhookDocument) -> tuple[object, ...]:
    word = "retrying" if each["why"] and each["state"] else "waiting" if each["state"] else "unreadable"
    return (each["webhook"], word, each["tries"], each["due"], each["url"], each["why"])


def _given_up(each: GivenUpDocument) -> tuple[object, ...]:
    return (each["webhook"], "given up", each["tries"], None, each["url"], each["why"])


@webhooks.command(epilog="Examples: supervisor webhooks retry 't-1|1|completed'; supervisor webhooks retry --all")
@click.argument("names", nargs=-1, metavar="[WEBHOOK...]")
@click.option(
    "--all",
    "all_of_them",
    is_flag=True,
    help="The first thousand webhooks that wait, and the last thousand that were given up.",
)
@options.changing
def retry(session: Session, /, names: tuple[str, ...], all_of_them: bool) -> int:
    """Try webhooks now: those that wait, and those of the last thousand that were given up."""
    if bool(names) == all_of_them:
        raise click.UsageError(WHICH)
    if all_of_them:
        answer = operate(session, RETRY_ALL_WEBHOOKS, {}, LONG_RETRIES)
        session.answer(answer, f"{answer['tried']} are tried now, {answer['left']} others wait for their next try")
        return Exit.OK
    done = converse(session, lambda store: operate_each(store, session, RETRY_WEBHOOK, names))
    for name, one in done.items():
        if isinstance(one, HoldfastError):
            output.note(str(one))
        else:
            session.answer_each(one, f"{name} is tried now")
    return exit_of(refusals(done))


give_up = command_of(
    GIVE_UP_WEBHOOK,
    "give-up",
    lambda answer: f"{answer['webhook']} is given up",
    "Example: supervisor webhooks give-up 't-1|1|completed' --reason 'the receiver has moved'",
)
webhooks.add_command(give_up)
