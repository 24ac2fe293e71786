"""A setting's value with its origin, and the text of a value without secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from holdfast_config.names import PASSWORDS
from holdfast_config.redis_urls import mask, mask_webhook

_SHOWN = 80
_MASKED = frozenset({"redis_url", "redis_host", "otlp_endpoint"})


@dataclass(frozen=True, slots=True)
class ValueWithOrigin:
    """A value with its origin. `key`: the key as the user wrote it, with the file, if any. `named`: True if a user has
    set the value; False for a default that depends on the machine. `is_of_project`: True for a default that also
    depends on the project."""

    key: str
    value: object
    named: bool = True
    is_of_project: bool = False


def without_secrets(field: str, value: str) -> str:
    """The value of a setting with secrets masked."""
    if field == "webhook_url":
        return mask_webhook(value)
    return mask(value) if field in _MASKED or "://" in value else value


def _masked(field: str, value: object) -> object:
    """The value with secrets masked, also inside a list or a table. A file may contain such a list or table by
    mistake."""
    match value:
        case str():
            return without_secrets(field, value)
        case list():
            return [_masked(field, item) for item in cast("list[object]", value)]
        case dict():
            return {name: _masked(field, item) for name, item in cast("dict[object, object]", value).items()}
        case _:
            return value


def shown(field: str, value: object) -> str:
    """The value as an error message shows it: one line, secrets masked, control characters escaped, a long text cut."""
    if field in PASSWORDS:
        return "***"
    text = repr(_masked(field, value))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
