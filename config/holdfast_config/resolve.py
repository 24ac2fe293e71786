"""Loads the settings from flags, environment and files. An error reports all problems at once."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from holdfast_config import code_trust, environment, file_trust, found_files, names, rules, sources
from holdfast_config.errors import ConfigError
from holdfast_config.origin import ValueWithOrigin, shown
from holdfast_config.projects import Project, project_folder
from holdfast_config.settings import Settings
from holdfast_config.sources import ORDERED, FolderSource, ImpliedSource, SettingsOfSources, Source

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
    """Returns the settings: flags override the environment, which overrides .env, which overrides supervisor.toml,
    which overrides defaults. See `resolve`. Settings taken from a file that nobody named are logged in one line."""
    resolved = resolve(flags, environ=environ, folder=folder, timeline=timeline, framework=framework)
    if resolved.notices:
        import structlog  # seldom needed here

        for notice in resolved.notices:
            structlog.get_logger("holdfast.settings").info(notice)
    return resolved.settings


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings, and by field name the origin of each one that is not a default. `warnings` are about the files,
    `notices` about files that nobody named."""

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
    """Returns the settings with their origins. Raises ConfigError with all problems.

    `flags` have the names of the fields; None means not given. `config` and `env_file` name files to read in place of
    supervisor.toml and .env in `folder`, by default the current one. Without a supervisor.toml the file of another
    system is read if it exists (`found_files`); with `timeline` that of a timeline scheduler is tried first.
    `framework` is the configuration of an application of the agent framework; files override it. For such an
    application, even if `framework` is empty, `memory` in a file that nobody named is ignored.
    """
    files = _Files.of(flags, environ, folder or Path(), timeline=timeline)
    project = Project.at(project_folder(files.settings, files.app_dir, folder or Path()))
    folders = FolderSource(project, environ)
    ordered = *_sources(flags, environ, files, framework), folders
    settings, refused = _validated(ordered)
    given = dict(ChainMap(*(source.given for source in ordered)))
    problems = [problem for source in ordered for problem in (*source.problems, *source.unknown)]
    problems += rules.problems(given)
    problems += rules.outside_slot(settings) if settings else _lines(refused, given)
    problems += _trusted_by_strangers(given, files.read())
    if problems or settings is None:
        raise ConfigError(problems)
    settings.model_fields_set.difference_update(field for field, origin in given.items() if not origin.named)
    settings.belong_to(project, tuple(path.absolute() for path in files.read()))
    warnings = tuple(warning for source in ordered for warning in source.warnings)
    notices = tuple(source.notice for source in ordered if source.notice)
    return Resolved(settings, given, warnings, notices)


def setting_files(
    flags: Mapping[str, object], *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
) -> tuple[Path, ...]:
    """The files that `load` reads for these flags, and those that it would read if they existed."""
    folder = folder or Path()
    files = _Files.of(flags, environ, folder, timeline=False)
    return files.dotenv or folder / ".env", files.settings or folder / USUAL, *files.candidates


@dataclass(frozen=True, slots=True)
class _Files:
    """The files to read: `.env` with its variables and problems, and either the settings file or the first of
    `candidates` that exists. `app_dir` is that of a flag or a variable, else the current folder."""

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
        """The files that are read."""
        found = next((path for path in self.candidates if found_files.is_file(path)), None)
        return tuple(path for path in (self.dotenv, self.settings, found) if path is not None)


def _trusted_by_strangers(given: Mapping[str, ValueWithOrigin], files: tuple[Path, ...]) -> list[str]:
    """The problem where a file of somebody else tells root whose code to run."""
    origin = given.get("trust_folders")
    if origin is None or not code_trust.concerns_caller():
        return []
    own = next((path for path in files if origin.key.endswith(f" (in {path})")), None)
    found = next(code_trust.strangers([own]), None) if own else None
    return [f"{origin.key}: {found}: root takes it from a flag, a variable or a file of root's"] if found else []


def _path(named: object, usual: Path) -> Path | None:
    """The named file, which must exist, or the usual one, which may be missing (or be a folder, as some .env are)."""
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
        Source(problems=files.problems),
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
    """The source of a file, with the problems and warnings that come from the file's mode."""
    problems, source.warnings = file_trust.judge(path, source.given, strict=strict)
    source.problems += problems
    return source


def _validated(ordered: tuple[Source, ...]) -> tuple[Settings | None, ValidationError | None]:
    try:
        return SettingsOfSources(**{ORDERED: ordered}).plain(), None  # type: ignore[arg-type]  # not a field
    except ValidationError as error:
        return None, error


def _lines(error: ValidationError | None, given: Mapping[str, ValueWithOrigin]) -> list[str]:
    """One line for each problem. A field without an origin failed because a field that it is derived from failed."""
    lines: list[str] = []
    for detail in error.errors(include_url=False, include_input=False) if error else ():
        field = str(detail["loc"][0])
        if field in given:
            cause = detail.get("ctx", {}).get("error", detail["msg"])
            lines.append(f"{given[field].key}: {shown(field, given[field].value)}: {cause}")
    return lines
