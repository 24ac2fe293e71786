import os
from collections.abc import Iterator

import django
import pytest

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()


@pytest.fixture(scope="session")
def made_database() -> Iterator[None]:
    from django.db import connection
    from django.test.utils import setup_test_environment, teardown_test_environment

    setup_test_environment()
    connection.creation.create_test_db(verbosity=0)
    yield
    connection.creation.destroy_test_db("", verbosity=0)
    teardown_test_environment()


@pytest.fixture
def database(made_database: None) -> Iterator[None]:
    """With pytest-django: `transactional_db`."""
    from django.core.management import call_command

    yield
    call_command("flush", verbosity=0, interactive=False)
