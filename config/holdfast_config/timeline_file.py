"""The INI file of a timeline scheduler: its two stanzas are ours to read, the rest of the file is somebody else's.

[redbike]
prefix: myapp
worker: mymodule:Worker("A:A:B")
timefile: /var/lib/myapp/timefile
default-timeout: 10

[redbike-redis]
host: redis.example
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error, InterpolationError
from urllib.parse import quote

STANZA = "redbike"
SERVER = "redbike-redis"

# Key of the file -> our field.
FIELDS: Mapping[str, Mapping[str, str]] = {
    STANZA: {
        "prefix": "queue_name",
        "worker": "handler",
        "timefile": "time_file",
        "default-timeout": "task_timeout",
    },
    SERVER: {
        "host": "redis_host",
        "port": "redis_port",
        "db": "redis_db",
        "username": "redis_username",
        "password": "redis_password",
        "max_connections": "redis_max_connections",
        "socket_timeout": "redis_answer_timeout",
        "ssl_ca_certs": "redis_ca_file",
        "ssl_certfile": "redis_cert_file",
        "ssl_keyfile": "redis_key_file",
        "unix_socket_path": "redis_url",
        "ssl": "redis_url",
    },
}
# The same, spelled as in messages.
KEYS = {f"[{stanza}] {key}": field for stanza, fields in FIELDS.items() for key, field in fields.items()}
# Of a Redis client in Python, and ours to choose: how it decodes, and when it tries again.
OURS = frozenset(
    {
        "charset",
        "decode_responses",
        "encoding",
        "encoding_errors",
        "errors",
        "health_check_interval",
        "protocol",
        "retry_on_error",
        "retry_on_timeout",
        "single_connection_client",
        "socket_connect_timeout",
        "socket_keepalive",
    }
)

_YES = frozenset({"1", "yes", "true", "on"})
_INSIDE_A_URL = ("host", "port", "db")


def read(text: str) -> dict[str, dict[str, str]]:
    """Our stanzas with their keys; ValueError, in one line, where the file cannot be read."""
    parser = ConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
        return {
            stanza: {key: value or "" for key, value in parser.items(stanza)}
            for stanza in FIELDS
            if parser.has_section(stanza)
        }
    except InterpolationError as error:  # its own words have the value in them, which may be a password
        raise ValueError(
            f"[{error.section}] {error.option} has a % that refers to nothing: write %% for one %"
        ) from None
    except Error as error:
        raise ValueError(" ".join(str(error).split())) from None


def entries(stanzas: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Each key as `[stanza] key`, with its value; empty ones are left out.

    A stanza for Redis without a host means the server of this host, as it does to the client it is written for.
    """
    for stanza, keys in stanzas.items():
        given = {key: value for key, value in keys.items() if value and key not in OURS}
        if stanza == SERVER:
            given = _one_url(given)
        yield from ((f"[{stanza}] {key}", value) for key, value in given.items())


def _one_url(given: dict[str, str]) -> dict[str, str]:
    """What has no field of its own is a URL: a socket, or TLS."""
    rest = {key: value for key, value in given.items() if key not in _INSIDE_A_URL}
    db = given.get("db", "0")
    if "unix_socket_path" in given:
        return {**_without(rest, "ssl"), "unix_socket_path": f"unix://{quote(given['unix_socket_path'])}?db={db}"}
    if rest.get("ssl", "").lower() in _YES:
        server = f"{given.get('host', 'localhost')}:{given.get('port', '6379')}"
        return {**rest, "ssl": f"rediss://{server}/{db}"}
    return {"host": "localhost", **_without(given, "ssl")}


def _without(given: dict[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in given.items() if name != key}
