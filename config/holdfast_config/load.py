"""From flags, environment and files to Settings, or to every problem at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from holdfast_config import environment, file_trust, found_files, handler_call, names, redis_rules, setting_layers
from holdfast_config.errors import ConfigError
from holdfast_config.origin import Layer, ValueWithOrigin, shown
from holdfast_config.postgres_settings import checked as postgres_url
from holdfast_config.settings import Settings

USUAL = "supervisor.toml"
IMPLIED = " (implied)"

_FILES = ("config", "env_file")
_RIVALS = (
    ("redis_host", "redis_url"),
    ("redis_url", "scheduler_type"),
    ("redis_host", "scheduler_type"),
    ("handler", "exec"),
    ("exec", "handler"),
)
_SERVER_PARTS = ("redis_port", "redis_username", "redis_password", "redis_db", *redis_rules.FIELDS)

NO_FLAGS: Mapping[str, object] = MappingProxyType({})


def load(
    flags: Mapping[str, object] = NO_FLAGS,
    *,
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
    timeline: bool = False,
    framework: Mapping[str, object] | None = None,
) -> Settings:
    """The settings: flags, then environment, then .env, then supervisor.toml, then defaults. See `resolve`. A line of
    the log says what was taken from a file that was found."""
    resolved = resolve(flags, environ=environ, folder=folder, timeline=timeline, framework=framework)
    if resolved.notices:
        import structlog  # seldom needed here

        for notice in resolved.notices:
            structlog.get_logger("holdfast.settings").info(notice)
    return resolved.settings


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings, and where each that is no default came from, by field name; `warnings` of the files they came
    from; `notices` of files that nobody named."""

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
    """The settings with their origins.

    `flags` are named like the fields; None means not given. `config` and `env_file` name the files to read instead of
    supervisor.toml and .env of `folder`, which is the current one. Without a supervisor.toml a file of another system
    is used where it is found (`found_files`), with `timeline` a timeline scheduler's first. `framework`: the
    `scheduler` block of an application of the agent framework, weaker than any file; for such an application, also with
    an empty one, a `memory` in a file that was found says nothing. Raises ConfigError with all problems.
    """
    layers = _layers(flags, environ, folder or Path(), timeline=timeline, in_application=framework is not None)
    if framework:
        layers.insert(-1, found_files.of_framework(framework, tuple(Settings.model_fields)))
    given = _with_implied(_choose(layers))
    problems = [problem for layer in layers for problem in (*layer.problems, *layer.unknown)]
    problems += _without_server(given) + redis_rules.problems(given) + _two_handlers(given) + _database(given)
    try:
        settings = Settings(**{field: origin.value for field, origin in given.items()})  # type: ignore[arg-type]  # checked there
    except ValidationError as error:
        raise ConfigError([*problems, *_lines(error, given)]) from None
    problems += redis_rules.outside_slot(settings)
    if problems:
        raise ConfigError(problems)
    settings.model_fields_set.difference_update(field for field, origin in given.items() if not origin.named)
    return Resolved(
        settings,
        given,
        tuple(warning for layer in layers for warning in layer.warnings),
        tuple(layer.notice for layer in layers if layer.notice),
    )


def setting_files(
    flags: Mapping[str, object], *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
) -> tuple[Path, ...]:
    """The files that `load` reads for these flags, and those it would read if they were there."""
    folder = folder or Path()
    dotenv = _path(flags.get("env_file"), folder / ".env") or folder / ".env"
    variables = setting_layers.read_dotenv(dotenv)[0]
    file = _path(_named(flags, environ, variables), folder / USUAL)
    found = () if file else found_files.candidates(folder, _app_dir(flags, environ, variables, folder), timeline=False)
    return dotenv, file or folder / USUAL, *found


def _named(flags: Mapping[str, object], environ: Mapping[str, str], variables: Mapping[str, str]) -> object:
    return flags.get("config") or environ.get(names.CONFIG) or variables.get(names.CONFIG)


def _app_dir(
    flags: Mapping[str, object], environ: Mapping[str, str], variables: Mapping[str, str], folder: Path
) -> Path:
    """The application's folder, before there are settings; one that cannot be holds no file either."""
    name = names.own("app_dir")
    told = str(flags.get("app_dir") or environ.get(name) or variables.get(name) or "")
    return folder / os.path.expanduser(told)  # noqa: PTH111 - the home of an unknown user is refused later


def _layers(
    flags: Mapping[str, object], environ: Mapping[str, str], folder: Path, *, timeline: bool, in_application: bool
) -> list[Layer]:
    """Strongest first."""
    fields = tuple(Settings.model_fields)
    dotenv = _path(flags.get("env_file"), folder / ".env")
    variables, problems = setting_layers.read_dotenv(dotenv) if dotenv else ({}, [])
    file = _path(_named(flags, environ, variables), folder / USUAL)
    found = None
    if file is None:
        usual = found_files.candidates(folder, _app_dir(flags, environ, variables, folder), timeline=timeline)
        found = next((path for path in usual if found_files.is_file(path)), None)
    strict = file_trust.is_strict(environment.is_service(environ))
    return [
        setting_layers.of_flags({name: value for name, value in flags.items() if name not in _FILES}, fields),
        setting_layers.of_environment(environ, fields),
        setting_layers.of_credentials(environ),
        setting_layers.of_kill_points(environ),
        Layer({}, problems),
        _trusted(dotenv, setting_layers.of_environment(variables, fields, f" (in {dotenv})"), strict),
        _trusted(file, setting_layers.of_file(file, fields) if file else Layer({}), strict),
        _trusted(found, found_files.read(found, fields, in_application=in_application) if found else Layer({}), strict),
        setting_layers.of_folders(environ),
    ]


def _trusted(path: Path | None, layer: Layer, strict: bool) -> Layer:
    """The layer of a file, with what others can do to that file."""
    found = file_trust.judge(path, layer.given, strict=strict) if path else file_trust.TrustJudgement()
    return replace(layer, problems=[*layer.problems, *found.problems], warnings=found.warnings)


def _path(named: object, usual: Path) -> Path | None:
    """A file that was named must be there; the usual one may be missing (or be a folder, as some .env are)."""
    if named:
        return Path(str(named)).expanduser()
    return usual if found_files.is_file(usual) else None


def _choose(layers: Iterable[Layer]) -> dict[str, ValueWithOrigin]:
    """The strongest word on each field, and on its rivals in weaker layers. Within one layer the URL beats the host."""
    chosen: dict[str, ValueWithOrigin] = {}
    for layer in reversed(list(layers)):
        for field, rival in _RIVALS:
            if field in layer.given and rival not in layer.given:
                chosen.pop(rival, None)
        chosen.update(layer.given)
    return chosen


def _with_implied(given: dict[str, ValueWithOrigin]) -> dict[str, ValueWithOrigin]:
    """A worker that is named as a call says which lanes it takes from, and is not made to run twice at once."""
    handler = given.get("handler")
    if handler is None or not isinstance(handler.value, str) or not handler_call.is_call(handler.value):
        return given
    implied: dict[str, object] = {"lanes": handler_call.implied_lanes(handler.value), "concurrency": 1}
    told = {
        field: ValueWithOrigin(f"{handler.key}{IMPLIED}", value)
        for field, value in implied.items()
        if value is not None
    }
    return told | given


def _without_server(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """Whoever speaks of a server but names none would get the embedded store, and wonder."""
    scheduler = given.get("scheduler_type")
    named = "" if scheduler is None else str(scheduler.value).strip().lower()
    if "redis_url" in given or "redis_host" in given or named == "memory":
        return []
    problems = [
        f"{given[field].key}: {shown(field, given[field].value)}: belongs to a server, but none is named; "
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


def _two_handlers(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """Where one place says both, none is stronger."""
    both = [given[field].key for field in ("handler", "exec") if field in given]
    return [f"{' and '.join(both)} both say what runs the tasks: keep one"] if len(both) > 1 else []


def _database(given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """A DATABASE_URL may be there for somebody else: it is looked at only where tasks are kept in PostgreSQL."""
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


def _lines(error: ValidationError, given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """One line a problem. A field without origin failed only because one that it derives from did."""
    lines: list[str] = []
    for detail in error.errors(include_url=False, include_input=False):
        field = str(detail["loc"][0])
        if field in given:
            cause = detail.get("ctx", {}).get("error", detail["msg"])
            lines.append(f"{given[field].key}: {shown(field, given[field].value)}: {cause}")
    return lines
