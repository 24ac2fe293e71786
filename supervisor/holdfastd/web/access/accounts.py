"""The secrets that let somebody in, and the role that each gives."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from holdfast_config import Settings
from holdfastd.web.access.visitor import Role


@dataclass(frozen=True, slots=True)
class Accounts:
    """`token` gives the role `of_token`."""

    token: str
    of_token: Role = Role.OPERATOR

    @classmethod
    def of(cls, settings: Settings) -> Accounts:
        """The token of the settings, which must have one."""
        assert settings.web_token is not None
        return cls(settings.web_token.get_secret_value(), Role.VIEWER if settings.web_read_only else Role.OPERATOR)

    def role_of(self, token: str) -> Role | None:
        """None for a token that is not known. Takes as long for any token of one length."""
        return self.of_token if hmac.compare_digest(token.encode(), self.token.encode()) else None
