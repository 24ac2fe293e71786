"""Finds the secrets in the settings and in the environment, so that no log line shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast_config import secret_texts

if TYPE_CHECKING:
    from holdfast_config.settings import Settings

SHORTEST = 8  # characters; a shorter value, such as `true`, may also be part of a harmless word
_SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_PLACE_NAME = re.compile("_(FILE|PATH|DIR)$", re.IGNORECASE)  # such a variable has the path of a secret


def hide_secrets(settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
    """Mask the secrets of these settings and of the environment in the log and in reports of commands."""
    secret_texts.hide({*of_environment(environ), *of_settings(settings)})


def of_environment(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables whose name suggests a secret, for example `API_TOKEN`."""
    for name, value in environ.items():
        if len(value) >= SHORTEST and _SECRET_NAME.search(name) and not _PLACE_NAME.search(name):
            yield value


def of_settings(settings: Settings) -> Iterator[str]:
    """Yield passwords, keys, and the paths of webhook URLs, because chat services put tokens there."""
    secrets = (
        *(settings.redis_password, settings.redis_sentinel_password, settings.webhook_secret),
        *(settings.web_token, settings.web_viewer_token),
    )
    for secret in secrets:
        yield from filter(_is_long, [secret.get_secret_value() if secret else ""])
    database = settings.database_url.get_secret_value() if settings.database_url else ""
    for url in (settings.redis_url, database, settings.otlp_endpoint):
        yield from filter(_is_long, _of_url(url or ""))
    path = urlsplit(settings.webhook_url or "")
    yield from filter(_is_long, [path.path.strip("/"), path.query, *_of_url(settings.webhook_url or "")])


def _of_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        yield from (parts.password or "", unquote(parts.password or ""))
    except ValueError:  # an invalid URL is reported elsewhere
        return
    yield from (value for name, value in parse_qsl(parts.query) if _SECRET_NAME.search(name))


def _is_long(value: str) -> bool:
    return len(value) >= SHORTEST
