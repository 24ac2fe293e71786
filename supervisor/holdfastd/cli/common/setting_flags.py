"""Every setting as a flag, for the commands that take them all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic.fields import FieldInfo
from rich_click import rich_config

from holdfast_config import Settings, durations, names
from holdfastd.cli.common import options
from holdfastd.cli.common.options import Decorator, Function

# The groups in which `--help` shows the flags of settings.

GROUPS: Mapping[str, Sequence[str]] = {
    "Handler and workers": (
        *("exec", "exec_env", "application", "app_dir", "workers", "concurrency", "preload", "reload", "burst", "loop"),
    ),
    "Queue and lanes": ("queue_name", "lanes", "strict", "handler_rates"),
    "Redis": (
        *("redis_url", "redis_host", "redis_port", "redis_db", "redis_username"),
        *("redis_ca_file", "redis_cert_file", "redis_key_file", "redis_sentinel_username"),
        *("redis_max_connections", "redis_poll_timeout", "redis_answer_timeout", "scheduler_type"),
    ),
    "PostgreSQL": ("storage_type", "database_keep"),
    "Tasks": (
        *("task_timeout", "max_attempts", "max_crashes", "retry_base", "retry_cap", "keep"),
        *("unknown_handler_timeout", "max_message_bytes", "max_pending_messages"),
    ),
    "Submits": ("submit_attempts", "submit_timeout", "submit_wait", "submit_wait_cap"),
    "Start and end of workers": ("boot_timeout", "drain_timeout", "hang_timeout", "max_tasks", "max_memory"),
    "Leases and duties": ("lease", "lease_grace", "fence", "scan_interval", "time_file"),
    "Webhooks": ("webhook_url", "webhook_timeout", "webhook_attempts", "webhook_allow_private"),
    "Logs, metrics and traces": (
        *("log_level", "log_format", "capture_output", "metrics", "otlp_endpoint", "otlp_protocol"),
        *("trace_mode", "trace_baggage", "trace_url"),
    ),
    "Dashboard": (
        *("web", "web_users_file", "web_trust_proxy", "web_proxy_role", "web_read_only", "web_redact"),
        *("web_cert_file", "web_key_file", "web_hosts"),
    ),
    "Agent": ("web_a2a", "web_a2a_name", "web_a2a_description", "web_a2a_url", "web_a2a_lane"),
    "Folders and files": ("runtime_dir", "state_dir", "control_group_verbs", "trust_folders", "config", "env_file"),
}


# The handler is an argument; a password on a command line could be read by everyone who lists processes.
NOT_FLAGS = ("handler", *names.PASSWORDS)


def settings_but(*fields: str) -> Decorator:
    """A decorator that adds a flag for each field of Settings and for the settings files. `fields`: those that get no
    flag, because the command does not use them or names them differently."""
    left_out = {*NOT_FLAGS, *fields}

    def decorate(command: Function) -> Function:
        command = rich_config(help_config={"option_groups": {"*": _groups(left_out)}})(command)
        command = options.setting("config", options.CONFIG_HELP, "FILE")(command)
        command = options.setting("env_file", "File of environment variables. Default: ./.env.", "FILE")(command)
        return _with_flags(command, [field for field in Settings.model_fields if field not in left_out])

    return decorate


every_setting = settings_but()


def settings_of(group: str, *left_out: str) -> Decorator:
    """A decorator that adds the flags of one group of settings, without the fields in `left_out`."""
    return lambda command: _with_flags(command, [field for field in GROUPS[group] if field not in left_out])


def _with_flags(command: Function, fields: Sequence[str]) -> Function:
    for field in reversed(fields):
        command = _flag(field, Settings.model_fields[field])(command)
    return command


def _groups(left_out: Collection[str]) -> list[Any]:
    """The groups of flags in `--help`, without the fields in `left_out`."""
    return [
        {"name": name, "options": [options.flag(field) for field in fields if field not in left_out]}
        for name, fields in GROUPS.items()
    ]


def _flag(field: str, info: FieldInfo) -> Decorator:
    if info.annotation is bool:
        return options.switch(field, info.description or "")
    meaning = f"{info.description} {_default(info.default)}".rstrip()
    return options.setting(field, meaning, _metavar(info.default))


def _metavar(default: object) -> str:
    return "N" if isinstance(default, int) else "SECONDS" if isinstance(default, float) else "VALUE"


def _default(value: object) -> str:
    shown = durations.shortest(value) if isinstance(value, float) else value
    return f"[default: {shown}]" if isinstance(shown, int | str) else ""
