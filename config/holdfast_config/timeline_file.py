"""The INI file of a timeline scheduler. The settings in its two stanzas are read, the rest of the file is not.

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

# Key of the file -> field of Settings, by stanza.
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
# The same mapping with keys as [stanza] key, which messages show.
KEYS = {f"[{stanza}] {key}": field for stanza, fields in FIELDS.items() for key, field in fields.items()}
# Options of a Python Redis client that are accepted and have no effect: decoding and retries.
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
    """Parses the file and returns its two stanzas. Raises ValueError with one line if it is not an INI file."""
    parser = ConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
        return {
            stanza: {key: value or "" for key, value in parser.items(stanza)}
            for stanza in FIELDS
            if parser.has_section(stanza)
        }
    except InterpolationError as error:  # its message contains the value, which may be a password
        raise ValueError(
            f"[{error.section}] {error.option} has a % that refers to nothing: write %% for one %"
        ) from None
    except Error as error:
        raise ValueError(" ".join(str(error).split())) from None


def entries(stanzas: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields each key as `[stanza] key`, with its value, without empty ones.

    In a stanza for Redis the default host is localhost, as in the client that the stanza is for.
    """
    for stanza, keys in stanzas.items():
        given = {key: value for key, value in keys.items() if value and key not in OURS}
        if stanza == SERVER:
            given = _one_url(given)
        yield from ((f"[{stanza}] {key}", value) for key, value in given.items())


def _one_url(given: dict[str, str]) -> dict[str, str]:
    """Converts the keys of a socket and of TLS, which have no fields, to a URL."""
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
