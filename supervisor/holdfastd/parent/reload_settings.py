"""Selects the settings that a reload applies to new workers; the others take effect with a restart."""

from __future__ import annotations

import structlog

from holdfast_config import Settings

# Settings that a reload applies to new workers. The others belong to the service, or to processes that stay.
RELOADABLE = frozenset(
    {
        "handler",
        "exec",
        "exec_env",
        "app_dir",
        "concurrency",
        "redis_max_connections",
        "redis_poll_timeout",
        "task_timeout",
        "max_attempts",
        "retry_base",
        "retry_cap",
        "max_tasks",
        "max_memory",
        "max_message_bytes",
        "fence",
        "otlp_endpoint",
        "otlp_protocol",
        "trace_mode",
        "trace_baggage",
    }
)

_log = structlog.get_logger("holdfast.parent")


def reloadable_settings(before: Settings, after: Settings) -> Settings:
    """`after`, with the values of `before` for all settings that need a restart; the log names those that differ."""
    waiting = {
        name: getattr(before, name)
        for name in Settings.model_fields
        if name not in RELOADABLE and getattr(before, name) != getattr(after, name)
    }
    if waiting:
        _log.warning("these settings change only with a restart", settings=sorted(waiting))
    return after.model_copy(update=waiting)
