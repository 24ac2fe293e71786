"""Validates the arguments of managers and brokers, whose callers need not be typed. Raises InvalidTaskError."""

from __future__ import annotations

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError
from holdfast_config import RedisSettings, Settings
from holdfast_config.postgres_settings import PostgresSettings

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
