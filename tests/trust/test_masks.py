"""Secrets are shown nowhere: not in `config show`, not in errors, not where settings are printed."""

from __future__ import annotations

import pytest

from holdfast_config import ConfigError, Settings, load, mask
from holdfast_config.redis_urls import mask_webhook
from tests.cli.commands import Cli

SECRET = "hunter2"
CHAT = f"https://hooks.example.org:8443/services/T1/{SECRET}?token={SECRET}"


@pytest.mark.parametrize(
    "option",
    [
        "sslpassword",
        "password",
        "ssl_password",
        "token",
        "access_token",
        "apikey",
        "api_key",
        "X-Signature",
        "client_secret",
    ],
)
def test_options_of_a_url_that_hold_a_secret_are_masked(option: str) -> None:
    shown = mask(f"postgresql://db:5432/tasks?sslmode=require&{option}={SECRET}&application_name=x")
    assert shown == f"postgresql://db:5432/tasks?sslmode=require&{option}=***&application_name=x"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (CHAT, "https://hooks.example.org:8443/***"),
        (f"http://h?{SECRET}", "http://h/***"),
        ("https://h/", "https://h/"),
        ("https://h:1", "https://h:1"),
        ("off", "off"),
    ],
)
def test_of_a_webhook_only_the_server_is_shown(url: str, shown: str) -> None:
    assert mask_webhook(url) == shown


def test_config_show_shows_no_secret_of_a_webhook(alone: Cli) -> None:
    shown = alone("config", "show", "--webhook-url", CHAT, "--json")
    assert shown.document["webhook_url"]["value"] == "https://hooks.example.org:8443/***"
    assert SECRET not in shown.out + shown.err


def test_printed_settings_and_errors_show_no_secret_of_a_webhook() -> None:
    assert SECRET not in repr(Settings(webhook_url=CHAT))
    with pytest.raises(ConfigError) as caught:
        load({"webhook_url": f"{CHAT}#x"}, environ={})
    assert SECRET not in str(caught.value)
    assert "https://hooks.example.org" in str(caught.value)
