"""The URL of PostgreSQL is read by all its names; without storage in PostgreSQL a DATABASE_URL is not checked."""

from __future__ import annotations

import pytest

from tests.config.conftest import Load, Problems

ON = {"STORAGE_TYPE": "postgres"}


@pytest.mark.parametrize("name", ["DATABASE_URL", "STORAGE__URL", "HOLDFAST_DATABASE_URL"])
@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_a_database_is_named(read: Load, name: str, scheme: str) -> None:
    database = read({**ON, name: f"{scheme}://me:s3cret@db:5433/tasks?sslmode=require"}).postgres
    assert database is not None
    assert database.url == "postgresql://me:s3cret@db:5433/tasks?sslmode=require"
    assert database.masked_url == "postgresql://me:***@db:5433/tasks?sslmode=require"
    assert "s3cret" not in repr(database)


def test_a_socket_is_named_in_the_options(read: Load) -> None:
    database = read({**ON, "DATABASE_URL": "postgresql:///tasks?host=/run/postgresql"}).postgres
    assert database is not None
    assert database.url == "postgresql:///tasks?host=/run/postgresql"


@pytest.mark.parametrize("url", ["sqlite:///x.db", "postgresql://me:s3cret@db/x", "whatever"])
def test_without_that_storage_the_url_is_somebody_elses(read: Load, url: str) -> None:
    settings = read({"DATABASE_URL": url})
    assert settings.postgres is None
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    "url", ["mysql://s3cret@db/x", "postgresql:///x", "postgresql://db:port/x", "db", "postgresql://a b/x"]
)
def test_a_url_of_another_kind_is_refused_without_showing_it(problems: Problems, url: str) -> None:
    (line,) = problems({**ON, "DATABASE_URL": url})
    assert line.startswith("DATABASE_URL: must be postgresql://")
    assert "s3cret" not in line


def test_the_storage_needs_a_database(problems: Problems) -> None:
    (line,) = problems(ON)
    assert line == "STORAGE_TYPE: 'postgres': needs DATABASE_URL, as in postgresql://user@host:5432/database"
