"""Rules between settings: a server and its parts, TLS files, the Sentinel login, the lanes of a Cluster, PostgreSQL."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from holdfast_config import redis_topology, redis_urls
from holdfast_config.origin import ValueWithOrigin, shown
from holdfast_config.postgres_settings import checked as postgres_url
from holdfast_config.settings import Settings

_TLS = {"redis_ca_file": "ssl_ca_certs", "redis_cert_file": "ssl_certfile", "redis_key_file": "ssl_keyfile"}
_SENTINEL = ("redis_sentinel_username", "redis_sentinel_password")
FIELDS = (*_TLS, *_SENTINEL)
_SERVER_PARTS = ("redis_port", "redis_username", "redis_password", "redis_db", *FIELDS)


def problems(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """One line for each setting that contradicts another, is missing or cannot be used."""
    return _without_server(given) + _with_server(given) + _two_handlers(given) + _database(given)


def _without_server(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """Settings of a server are an error if no server is named: the embedded store would ignore them."""
    scheduler = given.get("scheduler_type")
    named = "" if scheduler is None else str(scheduler.value).strip().lower()
    if "redis_url" in given or "redis_host" in given or named == "memory":
        return []
    problems = [
        f"{given[field].key}: {shown(field, given[field].value)}: needs a server: "
        "set REDIS_URL or REDIS_HOST, or leave this out to use the embedded store"
        for field in _SERVER_PARTS
        if field in given
    ]
    if scheduler and named == "redis":
        problems.append(
            f"{scheduler.key}: {scheduler.value!r}: needs REDIS_URL or REDIS_HOST; "
            "leave this out to use the embedded store"
        )
    return problems


def _with_server(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """One line for each setting that does not fit the URL, or whose file cannot be used."""
    url = given.get("redis_url")
    address = str(url.value).strip() if url else "redis://" if "redis_host" in given else ""
    scheme = address.partition("://")[0]
    if scheme not in redis_urls.OPTIONS:
        return []  # no server, or a URL that is invalid itself
    lines = list(_misplaced(given, scheme))
    if not lines and scheme.startswith("rediss"):
        lines += _file_problems(given, address)
    return lines


def _misplaced(given: Mapping[str, ValueWithOrigin], scheme: str) -> Iterator[str]:
    for field in given.keys() & _TLS.keys() if not scheme.startswith("rediss") else ():
        yield f"{_label(given, field)}: is for TLS: needs REDIS_URL with rediss://, rediss+sentinel:// or rediss+cluster://"
    for field in given.keys() & set(_SENTINEL) if not scheme.endswith("+sentinel") else ():
        yield f"{_label(given, field)}: belongs to Sentinel: needs REDIS_URL with redis+sentinel:// or rediss+sentinel://"


def _label(given: Mapping[str, ValueWithOrigin], field: str) -> str:
    return f"{given[field].key}: {shown(field, given[field].value)}"


def _file_problems(given: Mapping[str, ValueWithOrigin], address: str) -> Iterator[str]:
    """Checks the TLS files, which the Redis client would check only at each connect."""
    files = {field: _file(given, field, address, option) for field, option in _TLS.items()}
    named = {field: file for field, file in files.items() if file}
    missing = [f"{label}: {cause}" for label, file in named.values() if (cause := _unreadable(file))]
    if missing:
        yield from missing
    elif "redis_key_file" in named and "redis_cert_file" not in named:
        yield f"{named['redis_key_file'][0]}: is the key of a certificate, and none is named; set REDIS_CERT_FILE"
    else:
        yield from _bad_certificates(named, redis_urls.option(address, "ssl_password"))


def _file(given: Mapping[str, ValueWithOrigin], field: str, address: str, option: str) -> tuple[str, Path] | None:
    """The label for messages, and the file. An option of the URL overrides the setting."""
    in_url = redis_urls.option(address, option)
    if in_url:
        return f"{given['redis_url'].key}: {option}={in_url}", Path(in_url)
    return (_label(given, field), Path(str(given[field].value)).expanduser()) if field in given else None


def _unreadable(file: Path) -> str:
    """The reason that the file is unreadable, or empty. A lack of permission is none: some commands need no Redis."""
    try:
        with file.open("rb"):
            return ""
    except PermissionError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _bad_certificates(named: Mapping[str, tuple[str, Path]], password: str | None) -> Iterator[str]:
    context = ssl.create_default_context()
    if "redis_ca_file" in named:
        label, file = named["redis_ca_file"]
        try:
            with suppress(PermissionError):
                context.load_verify_locations(file)
        except (ssl.SSLError, ValueError):
            yield f"{label}: holds no certificates in PEM"
    if "redis_cert_file" in named:
        label, file = named["redis_cert_file"]
        key = named.get("redis_key_file", (label, file))
        try:  # without a password the library would prompt for one
            with suppress(PermissionError):
                context.load_cert_chain(file, key[1], password=password or "")
        except (ssl.SSLError, ValueError):
            labels = label if key[0] == label else f"{label} and {key[0]}"
            yield f"{labels}: not a certificate with its key in PEM (a key's password is the URL's ssl_password)"


def _two_handlers(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """A handler and a command are an error if one source has both: neither overrides the other."""
    keys = [given[field].key for field in ("handler", "exec") if field in given]
    return [f"{' and '.join(keys)} both name what runs the tasks: keep one"] if len(keys) > 1 else []


def _database(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """DATABASE_URL is checked only if tasks are stored in PostgreSQL: it may be meant for another program."""
    storage = given.get("storage_type")
    if storage is None or str(storage.value).strip().lower() != "postgres":
        return []
    if "database_url" not in given:
        return [f"{storage.key}: {storage.value!r}: needs DATABASE_URL, as in postgresql://user@host:5432/database"]
    try:
        postgres_url(str(given["database_url"].value))
    except ValueError as error:
        return [f"{given['database_url'].key}: {error}"]
    return []


def outside_slot(settings: Settings) -> list[str]:
    """One line for each lane that is in another slot of a Cluster: scripts need all keys of a namespace in one slot."""
    if not redis_topology.is_cluster(settings.store_url):
        return []
    return [
        f"lane {lane!r}: a Cluster may keep this list on another node than the queue {settings.queue_name!r}; "
        f"in a Cluster a lane is {{{settings.queue_name}}}:lane:NAME, or NAME without a colon"
        for lane in settings.lane_names
        if ":" in lane and lane != settings.queue_name and not lane.startswith(f"{{{settings.queue_name}}}:")
    ]
