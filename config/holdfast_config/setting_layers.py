"""The places settings come from, each read into a layer: flags, environment, credentials, .env, a file."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import cast

from dotenv import dotenv_values
from dotenv.parser import parse_stream

from holdfast_config import agent_file, environment, kill_spec, names, service_folders, timeline_file
from holdfast_config.errors import ConfigError
from holdfast_config.origin import Layer, ValueWithOrigin

ARGUMENTS = {"handler": "HANDLER"}  # given without a flag


def of_flags(flags: Mapping[str, object], fields: Iterable[str]) -> Layer:
    """Flags by field name; None and an empty list mean that the flag was not given."""
    told = {name: value for name, value in flags.items() if value is not None and value not in ((), [])}
    known = set(fields)
    return Layer(
        {name: ValueWithOrigin(_flag(name), value) for name, value in told.items() if name in known},
        [names.unknown(_flag(name), known, _flag) for name in told.keys() - known],
    )


def of_environment(variables: Mapping[str, str], fields: Iterable[str], where: str = "") -> Layer:
    """Our own names and the documented aliases; an empty value counts as not given."""
    told = {name: value for name, value in variables.items() if value and not names.is_service_link(name, value)}
    by_name = names.in_environment(fields)
    given: dict[str, ValueWithOrigin] = {}
    first: dict[str, str] = {}
    problems = _unknown(told, by_name, where)
    for name, field in by_name.items():
        if name not in told:
            continue
        if field in first and told[first[field]].strip() != told[name].strip():
            problems.append(f"{first[field]} and {name}{where} disagree: they are two names of one setting; keep one")
        first.setdefault(field, name)
        given.setdefault(field, ValueWithOrigin(name + where, told[name]))
    return Layer(given, problems)


def of_credentials(variables: Mapping[str, str]) -> Layer:
    """The secrets that systemd hands over in files."""
    given: dict[str, ValueWithOrigin] = {}
    problems: list[str] = []
    for name in names.SECRETS:
        try:
            value = environment.credential(name, variables)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"the credential {name} cannot be read: {_cause(error)}")
        else:
            if value:
                given[name] = ValueWithOrigin(f"{name} (in $CREDENTIALS_DIRECTORY)", value)
    return Layer(given, problems)


def of_kill_points(variables: Mapping[str, str]) -> Layer:
    """No setting, but read by every process: what is wrong with it is told with the rest."""
    try:
        kill_spec.parse(environment.kill_at(variables))
    except ConfigError as error:
        return Layer({}, list(error.problems))
    return Layer({})


def read_dotenv(path: Path) -> tuple[dict[str, str], list[str]]:
    """The variables of an environment file and what is wrong with it; a variable of the file may use others."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: cannot be read: {_cause(error)}"]
    bad = [line.original.line for line in parse_stream(io.StringIO(text)) if line.error]
    if bad:
        return {}, [f"{path}: line {number} is not NAME=value" for number in bad]
    return {name: value for name, value in dotenv_values(stream=io.StringIO(text)).items() if value}, []


def of_file(path: Path, fields: Iterable[str], *, found: bool = False) -> Layer:
    """A TOML or JSON file whose keys are the field names, or another system's: JSON of the agent framework, or INI.

    `found`: nobody named it, so it is what its name says, another system's.
    """
    if path.suffix.lower() == ".conf":
        return _of_stanzas(path, fields)
    kind, read = ("JSON", json.loads) if path.suffix.lower() == ".json" else ("TOML", tomllib.loads)
    try:
        content: object = read(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return Layer({}, [f"{path}: cannot be read: {_cause(error)}"])
    except (ValueError, RecursionError) as error:
        return Layer({}, [f"{path}: not {kind}: {error}"])
    if not isinstance(content, dict):
        return Layer({}, [f"{path}: not an object of settings but {type(content).__name__}"])
    told = cast("dict[str, object]", content)
    known, where = set(fields), f" (in {path})"
    if kind == "JSON" and (found or agent_file.is_agent_file(told)):
        return of_blocks(told, known, where)
    return Layer(
        {key: ValueWithOrigin(key + where, value) for key, value in told.items() if key in known},
        unknown=[names.unknown(key, known, where=where) for key in told.keys() - known],
    )


def of_blocks(told: Mapping[str, object], known: Collection[str], where: str) -> Layer:
    """The configuration of the agent framework."""
    given: dict[str, ValueWithOrigin] = {}
    problems: list[str] = []
    unknown: list[str] = []
    for key, field, value in agent_file.entries(told):
        if field is None or field not in known:
            block = key.partition(".")[0]
            unknown.append(names.unknown(key, agent_file.BLOCKS[block], f"{block}.{{}}".format, where))
        elif field in given and given[field].value != value:
            problems.append(
                f"{given[field].key.removesuffix(where)} and {key}{where} disagree: "
                "they are two names of one setting; keep one"
            )
        else:
            given[field] = ValueWithOrigin(key + where, value)
    return Layer(given, problems, unknown=unknown)


def _of_stanzas(path: Path, fields: Iterable[str]) -> Layer:
    try:
        told = timeline_file.read(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return Layer({}, [f"{path}: cannot be read: {_cause(error)}"])
    except ValueError as error:
        return Layer({}, [f"{path}: not an INI file: {error}"])
    if not told:
        return Layer({}, [f"{path}: has neither a stanza [{timeline_file.STANZA}] nor [{timeline_file.SERVER}]"])
    known, where = set(fields), f" (in {path})"
    given: dict[str, ValueWithOrigin] = {}
    unknown: list[str] = []
    for key, field, value in timeline_file.entries(told):
        if field is None or field not in known:
            stanza = key.partition("]")[0].removeprefix("[")
            unknown.append(names.unknown(key, timeline_file.FIELDS[stanza], f"[{stanza}] {{}}".format, where))
        else:
            given[field] = ValueWithOrigin(key + where, value)
    return Layer(given, unknown=unknown)


def of_folders(variables: Mapping[str, str]) -> Layer:
    """The default folders, which depend on who started us."""
    return Layer(
        {"state_dir": service_folders.state_dir(variables), "runtime_dir": service_folders.runtime_dir(variables)}
    )


def _unknown(told: Iterable[str], by_name: Mapping[str, str], where: str) -> list[str]:
    known = {*by_name, *names.NO_SETTINGS, *((kill_spec.VARIABLE,) if not where else ())}
    mine = (name for name in sorted(told) if name.startswith(names.PREFIX))
    return [names.unknown(name, by_name.values(), names.own, where) for name in mine if name not in known]


def _flag(field: str) -> str:
    return ARGUMENTS.get(field, "--" + field.replace("_", "-"))


def _cause(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "not UTF-8"
