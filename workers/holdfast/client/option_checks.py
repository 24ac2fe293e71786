"""Checks the submit options of a task (dependencies, expiry, keys, webhook) and makes the store's values of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import cast

from holdfast.client.arguments import LONGEST_ID, check_id, check_seconds
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import MOST_PARENTS, IfParentFails, SubmitOptions, key_digest
from holdfast.core.plain_json import check_json, shown
from holdfast.errors import InvalidTaskError
from holdfast_config import RedisSettings, Settings, addresses
from holdfast_config.store_settings import PostgresSettings

_OPTIONS = attrgetter("after", "if_parent_fails", "expires", "webhook", "key", "debounce", "unique", "unique_for")
_NONE = (None,) * 8


def checked_options(spec: TaskSpec) -> SubmitOptions | None:
    """The options of `spec`; None if it has none, as most tasks. Raises InvalidTaskError."""
    if _OPTIONS(spec) == _NONE:
        return None
    _check_options(spec)
    at = isinstance(spec.expires, datetime)
    options = SubmitOptions(
        after=tuple(dict.fromkeys(spec.after or ())),
        if_parent_fails=IfParentFails(spec.if_parent_fails or IfParentFails.FAIL),
        expires_ms=unix_ms(spec.expires) if at else None,
        expires_in_ms=None if isinstance(spec.expires, datetime) else ms(spec.expires),
        debounce=key_digest(spec.debounce),
        unique=key_digest(spec.unique),
        unique_ms=ms(spec.unique_for),
        webhook=spec.webhook or "",
    )
    return None if options == SubmitOptions(if_parent_fails=options.if_parent_fails) else options


def ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000)) if seconds else 0


def unix_ms(at: datetime | float | None) -> int | None:
    return ms(at.timestamp() if isinstance(at, datetime) else at)


def _check_options(spec: TaskSpec) -> None:
    _check_parents(spec)
    _check_expiry(spec)
    _check_webhook(spec.webhook)
    for what, key in (("key", spec.key), ("debounce", spec.debounce), ("unique", spec.unique)):
        check_key(what, key)
    if spec.key is not None and spec.task_id is not None:
        raise InvalidTaskError("key and task_id exclude each other: the key makes the task id")
    if spec.debounce is not None:
        _check_debounce(spec)
    if spec.unique_for is not None:
        if spec.unique is None:
            raise InvalidTaskError("unique_for needs unique: the key of which there is to be one task for so long")
        check_seconds("unique_for", spec.unique_for, positive=True)


def _check_parents(spec: TaskSpec) -> None:
    after = _ids(spec.after)
    if spec.task_id is not None and spec.task_id in after:
        raise InvalidTaskError(f"after {spec.task_id}: a task cannot wait for itself")
    if len(set(after)) > MOST_PARENTS:
        raise InvalidTaskError(f"after {len(set(after))} tasks: a task waits for {MOST_PARENTS} others at most")
    policy: object = spec.if_parent_fails
    if policy is not None and policy not in tuple(IfParentFails):
        raise InvalidTaskError(f"if_parent_fails {shown(policy)}: fail or run is allowed")
    if policy is not None and not after:
        raise InvalidTaskError("if_parent_fails needs after: the tasks that this one waits for")


def _ids(given: object) -> list[str]:
    if given is None:
        return []
    if not isinstance(given, list | tuple):
        raise InvalidTaskError(f"after {shown(given)}: a list of task ids is expected")
    return [check_id(one) for one in cast("Sequence[object]", given)]


def _check_expiry(spec: TaskSpec) -> None:
    expires = spec.expires
    if isinstance(expires, datetime):
        if expires.utcoffset() is None:
            text = f"expires {expires.isoformat()}: has no time zone"
            raise InvalidTaskError(f"{text}; add one, as in {expires.isoformat()}+00:00")
        if expires.year < 1971:
            raise InvalidTaskError(f"expires {expires.isoformat()}: a date from 1971 on is allowed")
        return
    if expires is None:
        return
    check_seconds("expires", expires, positive=True)
    if spec.delay is not None and spec.delay >= expires:
        raise InvalidTaskError(f"expires {shown(expires)}: is over before the delay of {shown(spec.delay)} s is")


def check_key(what: str, key: object) -> None:
    if key is None:
        return
    if not isinstance(key, str):
        raise InvalidTaskError(f"{what} {shown(key)}: text expected")
    check_json(what, key)
    if not 1 <= len(key) <= LONGEST_ID:
        raise InvalidTaskError(f"{what} {shown(key)}: 1 to {LONGEST_ID} characters are allowed")


def _check_webhook(url: object) -> None:
    if url is None:
        return
    try:
        addresses.parse_webhook(url if isinstance(url, str) else "")
    except ValueError as error:
        raise InvalidTaskError(f"webhook {shown(url)}: {error}") from None


def _check_debounce(spec: TaskSpec) -> None:
    if not spec.delay:
        raise InvalidTaskError("debounce needs delay: how long a submission waits for a later one that replaces it")
    for what, value in (("key", spec.key), ("unique", spec.unique)):
        if value is not None:
            raise InvalidTaskError(f"debounce and {what} exclude each other: one replaces, the other keeps the first")


# Validates the arguments of managers and brokers, whose callers need not be typed. Raises InvalidTaskError.

LARGEST = 536_870_912  # bytes: the size limit of a value in Redis


def check_parts(retries: object, handlers: object, max_message_bytes: object = LARGEST) -> None:
    """Check the arguments that every manager has. A registry is any object with `named`: its class is not imported."""
    if retries is not None and not isinstance(retries, SubmitRetries):
        raise InvalidTaskError(f"retries {shown(retries)}: a SubmitRetries is expected")
    if handlers is not None and not callable(getattr(handlers, "named", None)):
        raise InvalidTaskError(f"handlers {shown(handlers)}: a registry (holdfast.Handlers) is expected")
    if type(max_message_bytes) is not int or not 1 <= max_message_bytes <= LARGEST:
        raise InvalidTaskError(f"max_message_bytes {shown(max_message_bytes)}: 1 to {LARGEST} are allowed")


def check_redis(settings: object) -> None:
    if not isinstance(settings, RedisSettings):
        raise InvalidTaskError(f"settings {shown(settings)}: RedisSettings are expected, as load().redis")


def check_database(database: object) -> None:
    if database is not None and not isinstance(database, PostgresSettings):
        raise InvalidTaskError(f"database {shown(database)}: PostgresSettings are expected, as load().postgres")


def check_settings(settings: object) -> None:
    if settings is not None and not isinstance(settings, Settings):
        raise InvalidTaskError(f"settings {shown(settings)}: Settings are expected, as load() answers")
