"""Fixtures of the command line, for the tests of what other users may do."""

from tests.cli.conftest import alone, cli

__all__ = ["alone", "cli"]
