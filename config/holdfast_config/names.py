"""Names of the settings in the environment: HOLDFAST_* names, the documented aliases, and variables that are no
settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeGuard

PREFIX = "HOLDFAST_"
CONFIG = "HOLDFAST_CONFIG"  # the path of the settings file
# The supervisor sets this in its children, to find processes that they leave behind. It is no setting.
INCARNATION = "HOLDFAST_INCARNATION"
# These are set for a command that runs a task.
TASK_ID = "HOLDFAST_TASK_ID"
ATTEMPT = "HOLDFAST_ATTEMPT"
IDEMPOTENCY_KEY = "HOLDFAST_IDEMPOTENCY_KEY"

NO_SETTINGS = frozenset({CONFIG, INCARNATION, TASK_ID, ATTEMPT, IDEMPOTENCY_KEY})
# Settings whose values are never shown and that have no flag.
PASSWORDS = (
    *("redis_password", "redis_sentinel_password", "database_url", "webhook_secret", "web_token", "web_viewer_token"),
)
SECRETS = ("redis_url", *PASSWORDS)

# Settings whose alias is their own name in capitals.
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

# The beginning that several keys share: `--` of flags, HOLDFAST_ of variables, a section in INI, a block in JSON.
_SECTION = re.compile(r"--|HOLDFAST_|\[[^]]*\] |\w+\.|")
_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def own(field: str) -> str:
    """The HOLDFAST_* variable of a setting."""
    return PREFIX + field.upper()


def flag(field: str) -> str:
    """The flag of a setting on a command line. The handler has no flag, it is the argument HANDLER."""
    return "HANDLER" if field == "handler" else "--" + field.replace("_", "-")


def in_environment(fields: Iterable[str]) -> dict[str, str]:
    """The setting of every variable, by the variable's name. The HOLDFAST_* name of a setting comes before its
    aliases."""
    return {name: field for field in fields for name in (own(field), *ALIASES.get(field, ()))}


def is_service_link(name: str, value: str) -> bool:
    """True for a variable that Kubernetes sets in every pod for a service, for example REDIS_PORT=tcp://… for
    `redis`."""
    return bool((_SERVICE_ADDRESS.match(value) and name.endswith("_PORT")) or _SERVICE_LINK.search(name))


def unknown(key: str, known: Iterable[str], where: str = "") -> str:
    """The error line for an unknown key, with the most similar known key. The line does not show the value, because it
    may be a secret.

    Only keys with the same beginning (`--`, HOLDFAST_ or a section) are compared, by the rest of their names.
    """
    section = _section(key)
    same = [name.removeprefix(section) for name in known if _section(name) == section]
    import difflib  # imported late: it is rarely needed, and would use memory in every process

    nearest = difflib.get_close_matches(key.removeprefix(section), same, n=1)
    return f"{key}{where}: unknown setting" + (f"; did you mean {section}{nearest[0]}?" if nearest else "")


def _section(key: str) -> str:
    return _SECTION.match(key)[0]  # type: ignore[index]  # the pattern matches every text


# The rule for names of applications, schedules and jobs.

_LONGEST = 200  # bytes of UTF-8
NAME_RULE = f"1 to {_LONGEST} bytes of printable text"


def is_name(value: object) -> TypeGuard[str]:
    """True for a text of 1 to 200 bytes without control characters and lone surrogates."""
    return isinstance(value, str) and value.isprintable() and 1 <= len(value.encode()) <= _LONGEST
