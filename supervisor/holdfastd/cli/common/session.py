"""One call of the command line: its common options and the settings that result from them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.exits import Exit
from holdfastd.cli.common import output

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast_config import Settings
    from holdfast_config.resolve import Resolved


class CommandError(Exception):
    """The command cannot be carried out; `status` is its exit status."""

    def __init__(self, message: str, status: int = Exit.FAILED) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Session:
    """One call of the command line. `flags`: the settings that were typed, by field name. `json`: print documents
    instead of tables. `wide`: tables keep their full width, also on a terminal. `own_process`: this process runs only
    this command. `reads`: the command changes nothing, so it may use the service of the host. `changes`: the command
    changes a supervisor or a queue that it finds; for root it may use the service of the host, too."""

    flags: dict[str, object] = field(default_factory=dict[str, object])
    json: bool = False
    wide: bool = False
    timeline: bool = False  # a timeline command: .redbike.conf has precedence over other settings files
    debug: bool = False
    own_process: bool = False
    reads: bool = False
    changes: bool = False
    is_terminal: bool = field(default_factory=lambda: sys.stdout.isatty())  # before a bar replaces the stream

    @cached_property
    def settings(self) -> Settings:
        """The settings, read at the first access. Prints a notice for each settings file that was found without being
        named.

        Raises ConfigError.
        """
        from holdfast_config.secret_values import hide_secrets

        settings = self.resolved.settings
        if self.reads or self.changes:
            settings = self._of_service(settings)
        hide_secrets(settings)
        for notice in self.resolved.notices:
            output.note(notice)
        self.debug = self.debug or settings.log_level == "debug"
        return settings

    def _of_service(self, settings: Settings) -> Settings:
        from holdfastd.cli.common import service_pool  # a command that runs a service does not need it

        folder = service_pool.found(settings, changes=not self.reads)
        if folder is None:
            return settings
        output.note(f"no supervisor runs for this project: this command uses the service in {folder}")
        return service_pool.of_service(settings, folder)

    @cached_property
    def resolved(self) -> Resolved:
        """The settings, each with its origin: a flag, a variable, a file or the default."""
        from holdfast_config.resolve import resolve  # slow to import, and `version` needs no settings

        return resolve(self.flags, timeline=self.timeline)

    def warn(self) -> None:
        """Print the warnings about the settings files; most commands do not."""
        for warning in self.resolved.warnings:
            output.note(f"warning: {warning}")

    @cached_property
    def runtime_dir(self) -> Path:
        """The supervisor's runtime folder. Raises UntrustedError if another user could have created it."""
        return self.settings.runtime_folder.check()

    @cached_property
    def control_dir(self) -> Path:
        """The runtime folder for a command that needs only the control socket. If the settings are invalid but the
        folder is known, this prints a warning. Raises the errors of `runtime_dir`."""
        from holdfast_config.errors import BrokenSettingsError  # late: its package is slow to import

        try:
            return self.runtime_dir
        except BrokenSettingsError as error:
            if error.runtime_folder is None:
                raise
            output.note(f"warning: {'; '.join(error.problems)}", "warning")
            return error.runtime_folder.check()

    @property
    def for_people(self) -> bool:
        """True if standard output is a terminal and --json is not given."""
        return self.is_terminal and not self.json

    def answer(self, document: object, *lines: str) -> None:
        """Print the answer of the command: the document with --json, else the lines for people."""
        if self.json:
            output.document(document)
            return
        for line in lines:
            output.text(line)

    def answer_each(self, document: object, line: str) -> None:
        """Print the answer about one thing of several, on a line of its own: the document with --json, else the line
        for people."""
        if self.json:
            output.line(document)
        else:
            output.text(line)
