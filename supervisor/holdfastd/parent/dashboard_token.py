"""The token to log in to the dashboard: that of the settings, else one that is made at the start."""

from __future__ import annotations

import secrets

from pydantic import SecretStr

from holdfast_config import Settings
from holdfastd.core.commands import Announce

BYTES = 24


def chosen(settings: Settings, announce: Announce) -> Settings:
    """The settings with a token. One that is made is announced, once: every web process of this start takes it. Where
    users log in by name or at a proxy it is not, and signs their sessions only."""
    if settings.web_token is not None:
        return settings
    token = secrets.token_urlsafe(BYTES)
    if settings.web_users_file is None and settings.web_trust_proxy is None:
        announce(f"token of the dashboard: {token} (HOLDFAST_WEB_TOKEN or a credential sets one that lasts)")
    return settings.model_copy(update={"web_token": SecretStr(token)})
