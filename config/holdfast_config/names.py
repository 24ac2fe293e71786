"""What the settings are called in the environment: our own names, the documented aliases, and what is no setting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PREFIX = "HOLDFAST_"
CONFIG = "HOLDFAST_CONFIG"  # names the settings file
# Set by the supervisor in its children, so that what they leave behind is found; their programs may load settings too.
INCARNATION = "HOLDFAST_INCARNATION"
# What the process of a task is told of it.
TASK_ID = "HOLDFAST_TASK_ID"
ATTEMPT = "HOLDFAST_ATTEMPT"
IDEMPOTENCY_KEY = "HOLDFAST_IDEMPOTENCY_KEY"

NO_SETTINGS = frozenset({CONFIG, INCARNATION, TASK_ID, ATTEMPT, IDEMPOTENCY_KEY})
# Fields shown nowhere and taken from no command line.
PASSWORDS = ("redis_password", "redis_sentinel_password", "database_url", "webhook_secret")
SECRETS = ("redis_url", *PASSWORDS)

ALIASES: Mapping[str, tuple[str, ...]] = {
    "workers": ("SCHEDULER__WORKERS",),
    "scheduler_type": ("SCHEDULER_TYPE", "SCHEDULER__TYPE"),
    "storage_type": ("STORAGE_TYPE", "STORAGE__TYPE"),
    "database_url": ("DATABASE_URL", "STORAGE__URL"),
    "redis_url": ("REDIS_URL", "SCHEDULER__URL"),
    "redis_host": ("REDIS_HOST",),
    "redis_port": ("REDIS_PORT",),
    "redis_username": ("REDIS_USERNAME",),
    "redis_password": ("REDIS_PASSWORD",),
    "redis_db": ("REDIS_DB",),
    "redis_ca_file": ("REDIS_CA_FILE",),
    "redis_cert_file": ("REDIS_CERT_FILE",),
    "redis_key_file": ("REDIS_KEY_FILE",),
    "redis_sentinel_username": ("REDIS_SENTINEL_USERNAME",),
    "redis_sentinel_password": ("REDIS_SENTINEL_PASSWORD",),
    "redis_max_connections": ("REDIS_MAX_CONNECTIONS",),
    "redis_poll_timeout": ("REDIS_POLL_TIMEOUT",),
    "queue_name": ("REDIS_QUEUE_NAME",),
    "otlp_endpoint": ("OTEL_EXPORTER_OTLP_ENDPOINT",),
    "otlp_protocol": ("OTEL_EXPORTER_OTLP_PROTOCOL",),
}

# The start that keys of one place have in common: of flags, variables, a stanza of INI, a block of JSON.
_SECTION = re.compile(r"--|HOLDFAST_|\[[^]]*\] |\w+\.|")
_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def own(field: str) -> str:
    """The field's own environment name."""
    return PREFIX + field.upper()


def flag(field: str) -> str:
    """The field's flag on a command line."""
    return "--" + field.replace("_", "-")


def in_environment(fields: Iterable[str]) -> dict[str, str]:
    """Every environment name of these fields, own names before aliases, with its field."""
    return {name: field for field in fields for name in (own(field), *ALIASES.get(field, ()))}


def is_service_link(name: str, value: str) -> bool:
    """Kubernetes describes a service `redis` to every pod as REDIS_PORT=tcp://… and the like: nobody's setting."""
    return bool((_SERVICE_ADDRESS.match(value) and name.endswith("_PORT")) or _SERVICE_LINK.search(name))


def unknown(key: str, known: Iterable[str], where: str = "") -> str:
    """The line that refuses a key, with the nearest known one. The value may be a secret and is not shown.

    Only keys of the same section are compared, without it: it says nothing about nearness.
    """
    section = _section(key)
    same = [name.removeprefix(section) for name in known if _section(name) == section]
    import difflib  # seldom needed, and every process would keep it

    nearest = difflib.get_close_matches(key.removeprefix(section), same, n=1)
    return f"{key}{where}: unknown setting" + (f"; did you mean {section}{nearest[0]}?" if nearest else "")


def _section(key: str) -> str:
    return _SECTION.match(key)[0]  # type: ignore[index]  # it matches the empty text, too
