"""Documented aliases work; two names that disagree and unknown names of ours are errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config import Settings
from holdfast_config.names import ALIASES, own
from tests.config.conftest import Load, Problems

SAMPLES = {
    "SCHEDULER__WORKERS": ("4", "workers", 4),
    "SCHEDULER__URL": ("redis://a", "redis_url", "redis://a"),
    "REDIS_URL": ("redis://a", "redis_url", "redis://a"),
    "REDIS_POLL_TIMEOUT": ("2.5", "redis_poll_timeout", 2.5),
    "REDIS_QUEUE_NAME": ("other", "queue_name", "other"),
    "REDIS_MAX_CONNECTIONS": ("20", "redis_max_connections", 20),
    "STORAGE_TYPE": ("redis", "storage_type", "redis"),
    "STORAGE__TYPE": ("Redis", "storage_type", "redis"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("http://c:4318", "otlp_endpoint", "http://c:4318"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_documented_name_sets_its_field(read: Load, name: str) -> None:
    value, field, expected = SAMPLES[name]
    assert getattr(read({name: value}), field) == expected
    assert getattr(read({own(field): value}), field) == expected


@pytest.mark.parametrize("name", ["SCHEDULER_TYPE", "SCHEDULER__TYPE", "HOLDFAST_SCHEDULER_TYPE"])
def test_the_scheduler_may_be_redis_where_a_server_is_named(read: Load, name: str) -> None:
    assert not read({name: "redis", "REDIS_URL": "redis://a"}).embedded


def test_server_parts_make_a_quoted_url(read: Load) -> None:
    parts = {"HOST": "db", "PORT": "6380", "USERNAME": "an/n", "PASSWORD": "p@ss:/#", "DB": "2"}
    settings = read({f"REDIS_{name}": value for name, value in parts.items()})
    assert settings.store_url == "redis://an%2Fn:p%40ss%3A%2F%23@db:6380/2"


def test_every_alias_belongs_to_a_field() -> None:
    assert set(ALIASES) <= set(Settings.model_fields)


def test_aliases_that_agree_are_one(read: Load) -> None:
    assert read({"REDIS_URL": "redis://a", "SCHEDULER__URL": "redis://a "}).redis_url == "redis://a"


def test_aliases_that_disagree_are_both_named_without_their_values(problems: Problems) -> None:
    assert problems({"REDIS_URL": "redis://:s3cret@a", "SCHEDULER__URL": "redis://b"}) == (
        "REDIS_URL and SCHEDULER__URL disagree: they are two names of one setting; keep one",
    )
    (line,) = problems({"HOLDFAST_QUEUE_NAME": "a", "REDIS_QUEUE_NAME": "b"})
    assert line.startswith("HOLDFAST_QUEUE_NAME and REDIS_QUEUE_NAME disagree")


def test_an_unknown_variable_of_ours_is_refused_with_the_nearest_name(problems: Problems) -> None:
    assert problems({"HOLDFAST_WORKER": "s3cret"}) == (
        "HOLDFAST_WORKER: unknown setting; did you mean HOLDFAST_WORKERS?",
    )
    assert problems({"HOLDFAST_ZZZ": "1"}) == ("HOLDFAST_ZZZ: unknown setting",)


def test_an_unknown_key_of_a_file_is_refused_with_the_nearest_name(problems: Problems, tmp_path: Path) -> None:
    toml, env = tmp_path / "supervisor.toml", tmp_path / ".env"
    toml.write_text("drain_timout = 3\n")
    env.write_text("HOLDFAST_HANDLR=a\n")
    assert problems() == (
        f"HOLDFAST_HANDLR (in {env}): unknown setting; did you mean HOLDFAST_HANDLER?",
        f"drain_timout (in {toml}): unknown setting; did you mean drain_timeout?",
    )


def test_an_unknown_flag_is_refused(problems: Problems) -> None:
    assert problems(worker=3) == ("--worker: unknown setting; did you mean --workers?",)


@pytest.mark.parametrize("name", ["SUPERVISOR_ENABLED", "REDIS_FOO", "holdfast_x"])
def test_variables_of_others_are_ignored(read: Load, name: str) -> None:
    assert read({name: "whatever"}) == read()


def test_a_program_below_a_worker_can_load_settings(read: Load) -> None:
    assert read({"HOLDFAST_INCARNATION": "0" * 32}) == read()


def test_links_of_kubernetes_services_are_no_settings(read: Load) -> None:
    links = {
        "REDIS_PORT": "tcp://10.0.0.1:6379",
        "REDIS_SERVICE_HOST": "10.0.0.1",
        "HOLDFAST_PORT": "tcp://10.0.0.2:80",
        "HOLDFAST_SERVICE_HOST": "10.0.0.2",
        "HOLDFAST_SERVICE_PORT_HTTP": "80",
        "HOLDFAST_PORT_80_TCP_ADDR": "10.0.0.2",
    }
    assert read(links) == read()
