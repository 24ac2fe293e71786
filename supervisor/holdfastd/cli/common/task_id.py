"""The click type of task ids, which a shell can complete from the store. `whole_ids` finds tasks by the beginning of an
id."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
import click
from click.shell_completion import CompletionItem

from holdfast.core.identity import is_task_id
from holdfast.core.words import counted
from holdfast.errors import StoreRefusedError, UnreadableRecordError
from holdfastd.cli.common import CommandError, Session, output
from holdfastd.cli.common.store_session import Store, ask, retries_of

if TYPE_CHECKING:
    from holdfast.store.redis import RedisStore


COMPLETION_TIMEOUT = 1.0  # seconds for the store to answer, which usually takes milliseconds
OFFERED = 100  # ids after which completion looks no further
PAGE = 1_000  # keys that the store looks at in one step, which takes less than a millisecond


class _TaskId(click.ParamType[str]):
    name = "task_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The matching ids; none if the store does not answer in time, since a key press must not print errors."""
        try:
            return [CompletionItem(task_id) for task_id in _known(ctx.ensure_object(Session), incomplete)]
        except Exception:
            return []


def _known(session: Session, beginning: str) -> Collection[str]:
    """The task ids that begin with `beginning`. If the store takes longer than COMPLETION_TIMEOUT, only those found
    until then."""
    from holdfast.store.redis import RedisStore  # slow to import

    found: dict[str, None] = {}

    async def look() -> None:
        with anyio.move_on_after(COMPLETION_TIMEOUT):
            async with aclosing(RedisStore(session.resolved.settings.redis)) as store:
                async for task_id in ids_beginning(store, beginning):
                    found[task_id] = None

    anyio.run(look)
    return found


async def ids_beginning(store: RedisStore, beginning: str) -> AsyncGenerator[str]:
    """The task ids that begin with `beginning`, from all keys of the queue. If it is empty: the ids of the first tasks
    of the list, in which running and waiting tasks come first."""
    from holdfast.core.tasks import Wanted  # slow to import

    if not beginning:
        for task in (await store.tasks(Wanted(), OFFERED)).tasks:
            yield task.task_id
        return
    cursor, offered = "", 0
    while offered < OFFERED:
        page = await store.task_ids(beginning, cursor, PAGE)
        for task_id in page.ids:
            yield task_id
        offered, cursor = offered + len(page.ids), page.cursor
        if not cursor:
            return


TASK_ID = _TaskId()


# Finds the tasks whose ids were given by their beginning: `6f1c2f0e`, or `invoice-2...` as a terminal shows it.
#
# A command that changes something takes a word without `...` as a beginning only if the word begins a UUID. Any other
# word may be an id that somebody chose: `order-1` never means `order-17`.

MOST_PAGES = 5_000  # pages that one search reads at most, in some seconds
IDS_LISTED = 5  # ids that an error names
CUT = ("…", "...")
SHORTEST = 8  # characters that a beginning of a UUID needs
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ANY_UUID = "00000000-0000-0000-0000-000000000000"


def whole_id(session: Session, word: str, /) -> str:
    """The id of the task whose id is `word` or begins with it. For a command that only reads."""
    if _UUID.fullmatch(word):
        return word
    return ask(session, lambda store: _read(store, word))


def whole_ids(session: Session, words: Sequence[str], /) -> list[str]:
    """The ids of the tasks that `words` name, for a command that changes these tasks. Prints each id of which only the
    beginning was given.

    Raises CommandError if one word fits several tasks.
    """
    if all(_UUID.fullmatch(word) for word in words):
        return list(words)
    return ask(session, lambda store: _all(store, words))


async def whole_ids_in(store: Store, session: Session, words: Sequence[str], /) -> list[str]:
    """Like `whole_ids`, for a command that has opened the store already."""
    return await retries_of(session.settings).call(_all, store, words)


async def _all(store: Store, words: Sequence[str]) -> list[str]:
    found = [await _changed(store, word) for word in words]
    for word, task_id in zip(words, found, strict=True):
        if word != task_id:
            output.note(f"{word} is task {task_id}")
    return found


async def _read(store: Store, word: str) -> str:
    return word if await _is_known(store, word) else await _only(store, word)


async def _changed(store: Store, word: str) -> str:
    if _UUID.fullmatch(word) or await _is_known(store, word):
        return word
    return await _only(store, word) if word.endswith(CUT) or _begins_uuid(word) else word


async def _is_known(store: Store, word: str) -> bool:
    """True if a task has this id, also if the record of the task cannot be read."""
    try:
        return is_task_id(word) and await store.get(word, payloads=False) is not None
    except (StoreRefusedError, UnreadableRecordError):
        return True


async def _only(store: Store, word: str) -> str:
    """The only task id that begins with `word`; `word` itself if there is none. Raises CommandError if there are
    several, or if `word` ends with an ellipsis and there is none."""
    beginning = uncut(word)
    found = sorted(await _beginning(store, beginning)) if is_task_id(beginning) else []
    if not found and word.endswith(CUT):
        raise CommandError(f"{word}: no task has an id with this beginning")
    return only_one("task", word, found) or word


def uncut(word: str) -> str:
    """The word without the ellipsis at its end."""
    return word.removesuffix(CUT[0]).removesuffix(CUT[1])


def only_one(kind: str, word: str, found: Sequence[str]) -> str:
    """The only element of `found`, the ids that begin with `word`; an empty text if there is none. Raises CommandError
    if there are several."""
    if len(found) > 1:
        more = " and more" if len(found) > IDS_LISTED else ""
        named = ", ".join(found[:IDS_LISTED])
        raise CommandError(f"{word} fits more than one {kind}: {named}{more}; give more of the id")
    return found[0] if found else ""


async def _beginning(store: Store, beginning: str) -> set[str]:
    """The task ids that begin with `beginning`; only some of them if there are many. Raises CommandError if the store
    has too many keys to search."""
    found: set[str] = set()
    cursor = ""
    for _ in range(MOST_PAGES):
        page = await store.task_ids(beginning, cursor, PAGE)
        found.update(page.ids)
        cursor = page.cursor
        if not cursor or len(found) > IDS_LISTED:
            return found
    keys = counted(MOST_PAGES * PAGE, "key")
    raise CommandError(
        f"{beginning}: the store has more than {keys}, too many to search for the rest of this id: give the whole id"
    )


def _begins_uuid(word: str) -> bool:
    """True if `word` can be the beginning of a UUID. A number does not count, because it may be an id that somebody
    chose."""
    return len(word) >= SHORTEST and not word.isdigit() and _UUID.fullmatch(word + _ANY_UUID[len(word) :]) is not None
