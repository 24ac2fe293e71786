"""Loads the settings from flags, environment and files. An error names all problems at once."""

from __future__ import annotations

import os
import ssl
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from holdfast_config import environment, file_trust, found_files, names, redis_urls, sources
from holdfast_config.errors import BrokenSettingsError
from holdfast_config.origin import ValueWithOrigin, shown
from holdfast_config.service_folders import Project, project_folder
from holdfast_config.settings import Settings
from holdfast_config.sources import ORDERED, ImpliedSource, SettingsOfSources, Source
from holdfast_config.store_settings import checked as postgres_url
from holdfast_config.trust import ServiceFolder

# Rules between settings: a server and its parts, TLS files, the Sentinel login, the lanes of a Cluster, PostgreSQL.

_TLS = {"redis_ca_file": "ssl_ca_certs", "redis_cert_file": "ssl_certfile", "redis_key_file": "ssl_keyfile"}
_SENTINEL = ("redis_sentinel_username", "redis_sentinel_password")
RULE_FIELDS = (*_TLS, *_SENTINEL)
_SERVER_PARTS = ("redis_port", "redis_username", "redis_password", "redis_db", *RULE_FIELDS)


def rule_problems(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """The problems, one line each: settings that contradict another setting, are missing or cannot be used."""
    return _without_server(given) + _with_server(given) + _two_handlers(given) + _database(given)


def _without_server(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """The problems if no server is named: settings that need a server. The supervisor would use its embedded store and
    ignore these settings."""
    scheduler = given.get("scheduler_type")
    named = "" if scheduler is None else str(scheduler.value).strip().lower()
    if "redis_url" in given or "redis_host" in given or named == "memory":
        return []
    rule_problems = [
        f"{given[field].key}: {shown(field, given[field].value)}: needs a server: "
        "set REDIS_URL or REDIS_HOST, or leave this out to use the embedded store"
        for field in _SERVER_PARTS
        if field in given
    ]
    if scheduler and named == "redis":
        rule_problems.append(
            f"{scheduler.key}: {scheduler.value!r}: needs REDIS_URL or REDIS_HOST; "
            "leave this out to use the embedded store"
        )
    return rule_problems


def _with_server(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """The problems if a server is named: settings that do not fit its URL, or whose file cannot be used."""
    url = given.get("redis_url")
    address = str(url.value).strip() if url else "redis://" if "redis_host" in given else ""
    scheme = address.partition("://")[0]
    if scheme not in redis_urls.OPTIONS:
        return []  # no server is named, or its URL is invalid and reported elsewhere
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
    """The problems of the TLS files. Without this check the Redis client would report them only when it connects."""
    files = {field: _file(given, field, address, option) for field, option in _TLS.items()}
    named = {field: file for field, file in files.items() if file}
    missing = [f"{label}: {cause}" for label, file in named.values() if (cause := _unreadable(file))]
    if missing:
        yield from missing
    elif "redis_key_file" in named and "redis_cert_file" not in named:
        yield f"{named['redis_key_file'][0]}: belongs to a certificate, but none is named: set REDIS_CERT_FILE"
    else:
        yield from _bad_certificates(named, redis_urls.option(address, "ssl_password"))


def _file(given: Mapping[str, ValueWithOrigin], field: str, address: str, option: str) -> tuple[str, Path] | None:
    """The label of a TLS file in messages, and its path; None if neither the URL nor a setting names the file. An
    option of the URL overrides the setting."""
    in_url = redis_urls.option(address, option)
    if in_url:
        return f"{given['redis_url'].key}: {option}={in_url}", Path(in_url)
    return (_label(given, field), Path(str(given[field].value)).expanduser()) if field in given else None


def _unreadable(file: Path) -> str:
    """The reason why the file cannot be read; empty if it can. Missing permission is not reported, because some
    commands need no Redis."""
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
        try:  # without the argument `password` the ssl module would prompt for one
            with suppress(PermissionError):
                context.load_cert_chain(file, key[1], password=password or "")
        except (ssl.SSLError, ValueError):
            labels = label if key[0] == label else f"{label} and {key[0]}"
            yield f"{labels}: not a certificate with its key in PEM (a key's password is the URL's ssl_password)"


def _two_handlers(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """The problem if one source names both a handler and a command (`exec`): neither overrides the other."""
    keys = [given[field].key for field in ("handler", "exec") if field in given]
    return [f"{' and '.join(keys)} both name what runs the tasks: keep one"] if len(keys) > 1 else []


def _database(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """The problems of DATABASE_URL. The variable is checked only if PostgreSQL keeps the tasks, because it may be meant
    for another program."""
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
    """The problems of lanes in a Redis Cluster. A lane must be in the same hash slot as its queue, because a script
    needs all its keys in one slot."""
    if not redis_urls.is_cluster(settings.store_url):
        return []
    return [
        f"lane {lane!r}: a Cluster may keep this list on another node than the queue {settings.queue_name!r}; "
        f"in a Cluster give NAME without a colon, or {{{settings.queue_name}}}:lane:NAME"
        for lane in settings.lane_names
        if ":" in lane and lane != settings.queue_name and not lane.startswith(f"{{{settings.queue_name}}}:")
    ]


USUAL = "supervisor.toml"

_FILES = ("config", "env_file")

NO_FLAGS: Mapping[str, object] = MappingProxyType({})


def load(
    flags: Mapping[str, object] = NO_FLAGS,
    *,
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
    timeline: bool = False,
    framework: Mapping[str, object] | None = None,
) -> Settings:
    """Load the settings. The strongest source wins: flags, the environment, .env, supervisor.toml, defaults. One log
    line names the settings that come from a file of another system. See `resolve`."""
    resolved = resolve(flags, environ=environ, folder=folder, timeline=timeline, framework=framework)
    if resolved.notices:
        from holdfast_config import library_log  # imported late, because it is seldom needed here

        for notice in resolved.notices:
            library_log.get_logger("holdfast.settings").info(notice)
    return resolved.settings


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings with their origins. `origins`: by the setting's name, without defaults. `warnings`: lines about the
    modes of files. `notices`: lines about settings from sources that no operator has named."""

    settings: Settings
    origins: Mapping[str, ValueWithOrigin]
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def resolve(
    flags: Mapping[str, object],
    *,
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
    timeline: bool = False,
    framework: Mapping[str, object] | None = None,
) -> Resolved:
    """Load the settings with their origins. Raises BrokenSettingsError with all problems.

    `flags` are values by the names of settings; None means not given. The flags `config` and `env_file` name files that
    replace supervisor.toml and .env in `folder` (by default the current folder). Without a supervisor.toml, the
    settings file of another system is read if there is one (`found_files`); with `timeline` the file of a timeline
    scheduler is tried first. `framework`: the configuration of an application of the agent framework; files override
    it. If it is given, even empty, `memory` in the file of another system is ignored.
    """
    files = _Files.of(flags, environ, folder or Path(), timeline=timeline)
    project = Project.at(project_folder(files.settings, files.app_dir, folder or Path()))
    ordered = *_sources(flags, environ, files, framework), sources.of_folders(project, environ)
    settings, refused = _validated(ordered)
    given = dict(ChainMap(*(source.given for source in ordered)))
    problems = [problem for source in ordered for problem in (*source.problems, *source.unknown)]
    problems += rule_problems(given)
    problems += outside_slot(settings) if settings else _lines(refused, given)
    problems += _trusted_by_strangers(given, files.read())
    if problems or settings is None:
        raise BrokenSettingsError(problems, _runtime_folder(ordered, project))
    settings.model_fields_set.difference_update(field for field, origin in given.items() if not origin.named)
    settings.belong_to(project, tuple(path.absolute() for path in files.read()))
    warnings = tuple(warning for source in ordered for warning in source.warnings)
    notices = tuple(source.notice for source in ordered if source.notice)
    return Resolved(settings, given, warnings, notices)


def setting_files(
    flags: Mapping[str, object], *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
) -> tuple[Path, ...]:
    """The paths of all files that `load` reads for these flags, including files that do not exist."""
    folder = folder or Path()
    files = _Files.of(flags, environ, folder, timeline=False)
    return files.dotenv or folder / ".env", files.settings or folder / USUAL, *files.candidates


@dataclass(frozen=True, slots=True)
class _Files:
    """The files to read: `dotenv` with its variables and problems, and the settings file, or else the first of
    `candidates` that exists. `app_dir`: the folder that a flag or a variable names, else the current folder."""

    dotenv: Path | None
    variables: Mapping[str, str]
    problems: list[str]
    app_dir: Path
    settings: Path | None
    candidates: tuple[Path, ...] = ()

    @classmethod
    def of(cls, flags: Mapping[str, object], environ: Mapping[str, str], folder: Path, *, timeline: bool) -> _Files:
        dotenv = _path(flags.get("env_file"), folder / ".env")
        variables, problems = sources.read_dotenv(dotenv) if dotenv else ({}, [])
        named = flags.get("config") or environ.get(names.CONFIG) or variables.get(names.CONFIG)
        own = names.own("app_dir")
        place = str(flags.get("app_dir") or environ.get(own) or variables.get(own) or "")
        app_dir = folder / os.path.expanduser(place)  # noqa: PTH111 - the home of an unknown user is refused later
        if file := _path(named, folder / USUAL):
            return cls(dotenv, variables, problems, app_dir, file)
        candidates = found_files.candidates(folder, app_dir, timeline=timeline)
        return cls(dotenv, variables, problems, app_dir, None, candidates)

    def read(self) -> tuple[Path, ...]:
        """The paths of the files that are read for the settings."""
        found = next((path for path in self.candidates if found_files.is_file(path)), None)
        return tuple(path for path in (self.dotenv, self.settings, found) if path is not None)


def _trusted_by_strangers(given: Mapping[str, ValueWithOrigin], files: tuple[Path, ...]) -> list[str]:
    """The problem if a file that another user can change sets `trust_folders` for root."""
    origin = given.get("trust_folders")
    if origin is None or not file_trust.concerns_caller():
        return []
    own = next((path for path in files if origin.key.endswith(f" (in {path})")), None)
    found = next(file_trust.strangers([own]), None) if own else None
    return (
        [f"{origin.key}: {found}: root takes it only from a flag, a variable or a file that belongs to root"]
        if found
        else []
    )


def _path(named: object, usual: Path) -> Path | None:
    """The named file, which must exist; else the usual file, or None if this is missing or a folder (some .env are)."""
    if named:
        return Path(str(named)).expanduser()
    return usual if found_files.is_file(usual) else None


def _sources(
    flags: Mapping[str, object], environ: Mapping[str, str], files: _Files, framework: Mapping[str, object] | None
) -> tuple[Source, ...]:
    """The sources of the settings, the strongest first."""
    strict = file_trust.is_strict(environment.is_service(environ))
    foreign = next((path for path in files.candidates if found_files.is_file(path)), None)
    stronger = [
        sources.of_flags({name: value for name, value in flags.items() if name not in _FILES}),
        sources.of_environment(environ),
        sources.of_credentials(environ),
        sources.of_kill_points(environ),
        sources.unread(files.problems),
    ]
    if files.dotenv:
        stronger.append(_judged(files.dotenv, sources.of_environment(files.variables, f" (in {files.dotenv})"), strict))
    if files.settings:
        stronger.append(_judged(files.settings, sources.of_file(files.settings), strict))
    if foreign:
        stronger.append(_judged(foreign, sources.of_found_file(foreign, in_application=framework is not None), strict))
    if framework:
        stronger.append(sources.of_application(framework))
    return *stronger, ImpliedSource(stronger)


def _judged(path: Path, source: Source, strict: bool) -> Source:
    """The source of a file, with added problems and warnings about the file's mode."""
    problems, source.warnings = file_trust.judge(path, source.given, strict=strict)
    source.problems += problems
    return source


def _validated(ordered: tuple[Source, ...]) -> tuple[Settings | None, ValidationError | None]:
    try:
        return SettingsOfSources(**{ORDERED: ordered}).plain(), None  # type: ignore[arg-type]  # not a field
    except ValidationError as error:
        return None, error


def _runtime_folder(ordered: tuple[Source, ...], project: Project) -> ServiceFolder | None:
    """The runtime folder of invalid settings; None if it is unknown. `ordered`: the sources, the strongest first."""
    for source in ordered:
        origin = source.given.get("runtime_dir")
        if not source.is_read or (origin and source.problems):
            return None
        if origin:
            break
    else:
        return None
    try:
        settings = Settings.model_validate({"runtime_dir": origin.value})
    except ValidationError:
        return None
    if not origin.named:
        settings.model_fields_set.clear()
    settings.belong_to(project, ())
    return settings.runtime_folder


def _lines(error: ValidationError | None, given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """The problems in a ValidationError, one line each. A setting without an origin is left out: it is invalid only
    because the setting from which it is derived is invalid."""
    lines: list[str] = []
    for detail in error.errors(include_url=False, include_input=False) if error else ():
        field = str(detail["loc"][0])
        if field in given:
            cause = detail.get("ctx", {}).get("error", detail["msg"])
            lines.append(f"{_label(given, field)}: {cause}")
    return lines
