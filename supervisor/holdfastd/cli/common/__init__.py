"""Parts that several commands share: options, output, exit statuses."""

from holdfastd.cli.common.session import CommandError, Session

__all__ = ["CommandError", "Session"]
