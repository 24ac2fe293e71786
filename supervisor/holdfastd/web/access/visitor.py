"""A person or program that has logged in, and the role that says what it may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast_config.web_users import Role

__all__ = ["Login", "Role", "Visitor"]


class Login(StrEnum):
    """The way in which a request shows who sends it."""

    COOKIE = "cookie"  # a browser sends it by itself, so a change needs the form's secret as well
    PROXY = "proxy"  # the proxy names the user of a browser, which is as good as a cookie
    HEADER = "header"  # Authorization, which no other site can set


@dataclass(frozen=True, slots=True)
class Visitor:
    """`name`: as Activity shows it; `csrf`: the secret that each form of this session carries, empty for headers.
    `credential_mark`: of a login in a header, differs after a change of the credential."""

    name: str
    role: Role
    login: Login
    csrf: str = ""
    credential_mark: str = ""

    @property
    def needs_secret(self) -> bool:
        """True if another site could have a browser send the login: a change needs the secret of its form, too."""
        return self.login is not Login.HEADER

    @property
    def may_change(self) -> bool:
        return self.role is Role.OPERATOR
