"""The groups in which `--help` shows the flags of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
