"""Names of the settings in the environment: our own, the documented aliases, and variables that are no settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeGuard

PREFIX = "HOLDFAST_"
CONFIG = "HOLDFAST_CONFIG"  # names the settings file
# Set by the supervisor in its children, to find processes that they leave behind. Their programs may load settings.
INCARNATION = "HOLDFAST_INCARNATION"
# Set for the process of a task.
TASK_ID = "HOLDFAST_TASK_ID"
ATTEMPT = "HOLDFAST_ATTEMPT"
IDEMPOTENCY_KEY = "HOLDFAST_IDEMPOTENCY_KEY"

NO_SETTINGS = frozenset({CONFIG, INCARNATION, TASK_ID, ATTEMPT, IDEMPOTENCY_KEY})
# Fields that are never shown and have no flag.
PASSWORDS = (
    *("redis_password", "redis_sentinel_password", "database_url", "webhook_secret", "web_token", "web_viewer_token"),
)
SECRETS = ("redis_url", *PASSWORDS)

# Fields whose alias is their own name in capitals.
_REDIS = (
    *("redis_host", "redis_port", "redis_username", "redis_password", "redis_db", "redis_ca_file", "redis_cert_file"),
    *("redis_key_file", "redis_sentinel_username", "redis_sentinel_password"),
    *("redis_max_connections", "redis_poll_timeout"),
)
ALIASES: Mapping[str, tuple[str, ...]] = {
    "workers": ("SCHEDULER__WORKERS",),
    "scheduler_type": ("SCHEDULER_TYPE", "SCHEDULER__TYPE"),
    "storage_type": ("STORAGE_TYPE", "STORAGE__TYPE"),
    "database_url": ("DATABASE_URL", "STORAGE__URL"),
    "redis_url": ("REDIS_URL", "SCHEDULER__URL"),
    **{field: (field.upper(),) for field in _REDIS},
    "queue_name": ("REDIS_QUEUE_NAME",),
    "otlp_endpoint": ("OTEL_EXPORTER_OTLP_ENDPOINT",),
    "otlp_protocol": ("OTEL_EXPORTER_OTLP_PROTOCOL",),
}

# The common start of keys: of flags, of variables, of a stanza in INI, of a block in JSON.
_SECTION = re.compile(r"--|HOLDFAST_|\[[^]]*\] |\w+\.|")
_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def own(field: str) -> str:
    """The name of the field in the environment."""
    return PREFIX + field.upper()


def flag(field: str) -> str:
    """The flag of the field on a command line; the handler is the argument."""
    return "HANDLER" if field == "handler" else "--" + field.replace("_", "-")


def in_environment(fields: Iterable[str]) -> dict[str, str]:
    """Maps every environment name to its field; for each field our own name precedes its aliases."""
    return {name: field for field in fields for name in (own(field), *ALIASES.get(field, ()))}


def is_service_link(name: str, value: str) -> bool:
    """True for a variable that Kubernetes sets in every pod for a service, for example REDIS_PORT=tcp://… for
    `redis`."""
    return bool((_SERVICE_ADDRESS.match(value) and name.endswith("_PORT")) or _SERVICE_LINK.search(name))


def unknown(key: str, known: Iterable[str], where: str = "") -> str:
    """The error line for an unknown key, with the most similar known one. The value may be a secret and is not shown.

    Keys of the same section are compared by the rest of their names.
    """
    section = _section(key)
    same = [name.removeprefix(section) for name in known if _section(name) == section]
    import difflib  # rarely needed, and every process would keep it

    nearest = difflib.get_close_matches(key.removeprefix(section), same, n=1)
    return f"{key}{where}: unknown setting" + (f"; did you mean {section}{nearest[0]}?" if nearest else "")


def _section(key: str) -> str:
    return _SECTION.match(key)[0]  # type: ignore[index]  # it matches the empty text, too


# The rule for names of applications, schedules and jobs.

_LONGEST = 200  # bytes of UTF-8
NAME_RULE = f"1 to {_LONGEST} bytes of printable text"


def is_name(value: object) -> TypeGuard[str]:
    """True for text without control characters and lone surrogates that is neither empty nor too long."""
    return isinstance(value, str) and value.isprintable() and 1 <= len(value.encode()) <= _LONGEST
