"""Settings of a reload: what workers may take over while the service goes on, and what has to wait for a restart."""

from __future__ import annotations

import structlog

from holdfast_config import Settings

# What new workers take from newly read settings. The rest is the service's own, or shared with processes that stay.
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
    }
)

_log = structlog.get_logger("holdfast.parent")


def unmoved(before: Settings, after: Settings) -> Settings:
    """`after`, but for what cannot change while the service runs; that is named in the log."""
    waiting = {
        name: getattr(before, name)
        for name in Settings.model_fields
        if name not in RELOADABLE and getattr(before, name) != getattr(after, name)
    }
    if waiting:
        _log.warning("these settings change only with a restart", settings=sorted(waiting))
    return after.model_copy(update=waiting)
