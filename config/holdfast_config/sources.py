"""The sources of the settings: flags, environment, credentials, `.env`, a file, and the folders of the system.

pydantic-settings calls the sources in order, the strongest first, and merges their values. A source keeps the origin of
its values and collects its problems, so that one error can name all problems.

The library's own readers are not used, because they ignore problems that an operator must see. They treat a settings
file as empty if it is missing, is a pipe, or is JSON with a list. They skip a bad line of `.env`, and remove spaces at
the ends of a secret. They accept two names of one setting with different values, and read any file in the secrets
folder as a setting.
"""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from configparser import ConfigParser, Error, InterpolationError
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from holdfast_config import environment, handler_call, kill_spec, names, service_folders
from holdfast_config.errors import ConfigError
from holdfast_config.origin import ValueWithOrigin, shown
from holdfast_config.service_folders import Project
from holdfast_config.settings import Settings

# The INI file of a timeline scheduler. Only two stanzas of the file are read. An example:
#
# [redbike] prefix: myapp worker: mymodule:Worker("A:A:B") timefile: /var/lib/myapp/timefile default-timeout: 10
#
# [redbike-redis] host: redis.example

STANZA = "redbike"
SERVER = "redbike-redis"

# By stanza: the key in the file, and the field of Settings.
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
# The same mapping with keys in the form `[stanza] key`, which messages show.
KEYS = {f"[{stanza}] {key}": field for stanza, fields in FIELDS.items() for key, field in fields.items()}
# Options of a Python Redis client that may stand in the file and have no effect: Holdfast decides about decoding and
# retries itself.
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
    """Parse the text of the file; returns the two stanzas. Raises ValueError with one line if the text is no INI
    file."""
    parser = ConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
        return {
            stanza: {key: value or "" for key, value in parser.items(stanza)}
            for stanza in FIELDS
            if parser.has_section(stanza)
        }
    except InterpolationError as error:  # not shown: the error's message contains the value, which may be a password
        raise ValueError(
            f"[{error.section}] {error.option} has a % that refers to nothing: write %% for a single %"
        ) from None
    except Error as error:
        raise ValueError(" ".join(str(error).split())) from None


def entries(stanzas: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the keys in the form `[stanza] key` with their values, without empty values.

    In the stanza for Redis the default host is localhost, because the Redis client has this default.
    """
    for stanza, keys in stanzas.items():
        given = {key: value for key, value in keys.items() if value and key not in OURS}
        if stanza == SERVER:
            given = _one_url(given)
        yield from ((f"[{stanza}] {key}", value) for key, value in given.items())


def _one_url(given: dict[str, str]) -> dict[str, str]:
    """Convert the keys for a socket or TLS to a URL, because no fields of Settings correspond to them."""
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


# The JSON file of the agent framework. Only the blocks `scheduler` and `storage` of the file are read.
#
# A JSON file without either block has the same keys as `supervisor.toml`.

# By block: the framework's key, and the field of Settings.
BLOCKS: Mapping[str, Mapping[str, str]] = {
    "scheduler": {
        "type": "scheduler_type",
        "workers": "workers",
        "url": "redis_url",
        "redis_url": "redis_url",
        "host": "redis_host",
        "redis_host": "redis_host",
        "port": "redis_port",
        "redis_port": "redis_port",
        "username": "redis_username",
        "password": "redis_password",
        "redis_password": "redis_password",
        "db": "redis_db",
        "redis_db": "redis_db",
        "queue_name": "queue_name",
        "max_connections": "redis_max_connections",
        "poll_timeout": "redis_poll_timeout",
    },
    "storage": {
        "type": "storage_type",
        "url": "database_url",
        "database_url": "database_url",
        "postgres_url": "database_url",
    },
}

# The same mapping with keys in the form `block.key`, which messages show.
AGENT_KEYS = {f"{block}.{key}": field for block, fields in BLOCKS.items() for key, field in fields.items()}
# This key may stand in the file and has no effect, because Holdfast always repeats a call that timed out.
_ALWAYS = "scheduler.retry_on_timeout"


def is_agent_file(content: Mapping[str, object]) -> bool:
    return any(isinstance(content.get(block), dict) for block in BLOCKS)


def agent_entries(content: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the keys of the blocks in the form `block.key` with their values, without nulls. A block that is not an
    object is yielded as a key itself."""
    for block in BLOCKS:
        inside = content.get(block)
        if isinstance(inside, dict):
            given = {f"{block}.{key}": value for key, value in cast("dict[str, object]", inside).items()}
            yield from ((key, value) for key, value in given.items() if value is not None and key != _ALWAYS)
        elif inside is not None:
            yield block, inside


IMPLIED = " (implied)"
ORDERED = "sources"  # the argument of SettingsOfSources

# By field: the fields in a stronger source because of which this field is ignored.
_EXCLUDED_BY = {
    "redis_url": {"redis_host"},
    "scheduler_type": {"redis_url", "redis_host"},
    "handler": {"exec"},
    "exec": {"handler"},
}
_FIELDS = {field: field for field in Settings.model_fields}
_APPLICATION = "the application's configuration"

Entries = Iterable[tuple[str, object]]


class SettingsOfSources(Settings, BaseSettings):
    """The class that reads the settings. The argument ORDERED names the sources, the strongest first."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        sources: tuple[PydanticBaseSettingsSource, ...] = init_settings()[ORDERED]
        return sources

    def plain(self) -> Settings:
        """The same settings as a plain Settings, without pydantic-settings, which no worker needs."""
        return Settings.model_construct(self.model_fields_set, **dict(self))


class Source(PydanticBaseSettingsSource):
    """A source of settings that knows the origin of its values. `problems` and `unknown` (lines about unknown keys) are
    errors. `warnings` and `notice` (one line for the user) are no errors. `is_read`: False if its values are unknown.

    `entries`: keys with their values. `known`: the fields of Settings by key. `where`: the place of the source, which
    follows a key in messages.
    """

    def __init__(
        self, entries: Entries = (), known: Mapping[str, str] = _FIELDS, where: str = "", problems: Iterable[str] = ()
    ) -> None:
        super().__init__(SettingsOfSources)
        self.where = where
        self.problems = list(problems)
        self.given: dict[str, ValueWithOrigin] = {}
        self.unknown: list[str] = []
        self.warnings: list[str] = []
        self.notice = ""
        self.is_read = True
        for key, value in entries:
            if key in known:
                self._take(known[key], key, value)
            else:
                self.unknown.append(names.unknown(key, known, where))

    def _take(self, field: str, key: str, value: object) -> None:
        first = self.given.setdefault(field, ValueWithOrigin(key + self.where, value))
        if str(first.value).strip() != str(value).strip():
            both = f"{first.key.removesuffix(self.where)} and {key}{self.where}"
            self.problems.append(f"{both} disagree: they are two names of one setting; keep one")

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The base class requires this method, but it is never called, because `__call__` returns all values."""
        raise NotImplementedError

    def __call__(self) -> dict[str, Any]:
        """The values that no stronger source excludes. `current_state` has the values of the stronger sources. The
        other values are dropped."""
        stronger = self.current_state.keys()
        excluded = {field for field, others in _EXCLUDED_BY.items() if stronger & others}
        self.given = {field: origin for field, origin in self.given.items() if field not in excluded}
        return {field: origin.value for field, origin in self.given.items()}

    def announce(self, place: str, heading: str) -> None:
        """Write the values taken and the unknown keys into `notice`. Unknown keys are then no errors, because no
        operator named this source."""
        where = f" (in {place})"
        taken = [
            f"{origin.key.removesuffix(where)} {shown(field, origin.value)}" for field, origin in self.given.items()
        ]
        unknown = [line.replace(f"{where}: unknown setting", "") for line in self.unknown]
        parts = [f"taken: {', '.join(taken)}"] if taken else []
        parts += [f"not understood: {', '.join(unknown)}"] if unknown else []
        self.notice, self.unknown = f"{heading}: {'; '.join(parts)}" if parts else "", []


class ImpliedSource(Source):
    """The source of settings that follow from a handler written as a call, such as `module:Worker("A:A:B")`: its lanes,
    and one run at a time."""

    def __init__(self, stronger: Iterable[Source]) -> None:
        super().__init__()
        self._stronger = tuple(stronger)

    def __call__(self) -> dict[str, Any]:
        handler = next((source.given["handler"] for source in self._stronger if "handler" in source.given), None)
        if handler and isinstance(handler.value, str) and handler_call.is_call(handler.value):
            implied: dict[str, object] = {"lanes": handler_call.implied_lanes(handler.value), "concurrency": 1}
            key = f"{handler.key}{IMPLIED}"
            self.given = {field: ValueWithOrigin(key, value) for field, value in implied.items() if value is not None}
        return super().__call__()


def unread(problems: Iterable[str]) -> Source:
    """The source of a file that could not be read, because of these problems. Without problems: an empty source."""
    source = Source(problems=problems)
    source.is_read = not source.problems
    return source


def of_flags(flags: Mapping[str, object]) -> Source:
    """The source of flags. `flags` are values by the names of fields; None or an empty list means not given."""
    known = {names.flag(field): field for field in _FIELDS}
    given = ((name, value) for name, value in flags.items() if value is not None and value not in ((), []))
    return Source(((names.flag(name), value) for name, value in given), known)


def of_environment(variables: Mapping[str, str], where: str = "") -> Source:
    """The source of environment variables: HOLDFAST_* names and the documented aliases. An empty value counts as not
    given."""
    given = {name: value for name, value in variables.items() if value and not names.is_service_link(name, value)}
    known = names.in_environment(_FIELDS)
    others = {*known, *names.NO_SETTINGS, *(() if where else (kill_spec.VARIABLE,))}
    unknown = sorted(name for name in given.keys() - others if name.startswith(names.PREFIX))
    return Source(((name, given[name]) for name in (*known, *unknown) if name in given), known, where)


def of_credentials(variables: Mapping[str, str]) -> Source:
    """The source of secrets that systemd passes as credential files."""
    secrets: dict[str, object] = {}
    problems: list[str] = []
    for name in names.SECRETS:
        try:
            secrets[name] = environment.credential(name, variables)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"the credential {name} cannot be read: {_cause(error)}")
    entries = ((name, value) for name, value in secrets.items() if value)
    return Source(entries, where=" (in $CREDENTIALS_DIRECTORY)", problems=problems)


def of_kill_points(variables: Mapping[str, str]) -> Source:
    """A source without settings. It reports problems of the kill points, which every process reads from the
    environment."""
    try:
        kill_spec.parse(environment.kill_at(variables))
    except ConfigError as error:
        return Source(problems=error.problems)
    return Source()


def of_folders(project: Project, variables: Mapping[str, str]) -> Source:
    """The source of the default folders, which depend on the project, the user and systemd."""
    source = Source()
    source.given = service_folders.default_folders(project, variables)
    return source


def of_application(blocks: Mapping[str, object]) -> Source:
    """The source of the configuration in the code of an application of the agent framework."""
    source = Source(agent_entries(blocks), AGENT_KEYS, f" (in {_APPLICATION})")
    source.announce(_APPLICATION, _APPLICATION)
    return source


def of_found_file(path: Path, *, in_application: bool = False) -> Source:
    """The source of another system's file that was found by its usual name. `in_application`: an application of the
    agent framework reads it. A `scheduler` block with `memory` is then ignored, because `memory` is the framework's
    default."""
    source = of_file(path, unnamed=True)
    scheduler = source.given.get("scheduler_type")
    if in_application and scheduler and str(scheduler.value).strip().lower() == "memory":
        source.given = {
            field: origin for field, origin in source.given.items() if not origin.key.startswith("scheduler.")
        }
    source.announce(str(path), f"found {path}")
    return source


def of_file(path: Path, *, unnamed: bool = False) -> Source:
    """The source of a file: TOML or JSON with the names of Settings, JSON of the agent framework, or INI of a timeline
    scheduler. `unnamed`: the file was found by its usual name, so a JSON file belongs to the agent framework."""
    suffix = path.suffix.lower()
    kind, parse = _KINDS.get(suffix, _TOML)
    try:
        content = parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return unread([f"{path}: cannot be read: {_cause(error)}"])
    except (ValueError, RecursionError) as error:
        return unread([f"{path}: not {kind}: {error}"])
    if not isinstance(content, dict):
        return unread([f"{path}: not an object of settings but {type(content).__name__}"])
    table, where = cast("dict[str, Any]", content), f" (in {path})"
    if suffix == ".conf":
        stanzas = f"neither a stanza [{STANZA}] nor [{SERVER}]"
        return Source(entries(table), KEYS, where, () if table else [f"{path}: has {stanzas}"])
    if suffix == ".json" and (unnamed or is_agent_file(table)):
        return Source(agent_entries(table), AGENT_KEYS, where)
    return Source(table.items(), where=where)


_TOML: tuple[str, Callable[[str], object]] = ("TOML", tomllib.loads)
_KINDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    ".json": ("JSON", json.loads),
    ".conf": ("an INI file", read),
}


def read_dotenv(path: Path) -> tuple[dict[str, str], list[str]]:
    """Read an environment file; returns its variables and its problems. A variable may refer to others, as in
    ${HOME}."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: cannot be read: {_cause(error)}"]
    bad = [line.original.line for line in parse_stream(io.StringIO(text)) if line.error]
    if bad:
        return {}, [f"{path}: line {number} is not NAME=value" for number in bad]
    return {name: value for name, value in dotenv_values(stream=io.StringIO(text)).items() if value}, []


def _cause(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "not UTF-8"
