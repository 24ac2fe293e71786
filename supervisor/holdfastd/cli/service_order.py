"""The services that a command can order. Nothing of the command line is imported here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from holdfastd.cli.common import output

if TYPE_CHECKING:
    from holdfast_config import Settings


class Order(Protocol):
    """A service to run in this process."""

    def serve(self) -> int:
        """Run the service; its exit status."""
        ...


@dataclass(frozen=True, slots=True)
class PoolOrder:
    """A supervisor with its workers: its settings, the flags to read them again with, and the files that they came
    from."""

    settings: Settings
    flags: Mapping[str, object]
    files: tuple[Path, ...]

    def serve(self) -> int:
        """Run the service; its exit status."""
        _begin(self.settings)
        if self.settings.scheduler_type == "memory":
            from holdfastd.single.single_process import run as run_single

            return run_single(self.settings, output.announce)
        from holdfastd.parent import lean_imports

        lean_imports.prepare(telemetry=self.settings.otlp_endpoint is not None)  # before others import the same

        from holdfastd.parent.parent_process import run as run_service

        return run_service(self.settings, output.announce, self._read_again, self.files)

    def _read_again(self) -> Settings:
        from holdfast_config import load
        from holdfast_config.secret_values import hide_secrets

        settings = load(self.flags)
        hide_secrets(settings)
        return settings


@dataclass(frozen=True, slots=True)
class DashboardOrder:
    """The dashboard by itself, at the address of these settings."""

    settings: Settings

    def serve(self) -> int:
        """Serve the dashboard until it is told to end; its exit status."""
        _begin(self.settings)
        import_dashboard()
        from holdfastd.control.listening_socket import DASHBOARD, ListenError, ListeningSocket
        from holdfastd.parent import start_checks
        from holdfastd.parent.host import raise_descriptors
        from holdfastd.web.web_process import run_alone

        dashboard = ListeningSocket(self.settings.web, DASHBOARD, has_tls=self.settings.web_cert_file is not None)
        try:
            with dashboard.opened(output.announce) as listener:
                assert listener is not None
                raise_descriptors()
                run_alone(start_checks.with_dashboard_token(self.settings, output.announce), listener)
        except ListenError as error:
            output.announce(str(error), "error")
            return error.code
        return 0


def import_pool() -> None:
    """Import what the service of a pool needs."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # before others import the same

    from holdfastd.parent.script_builder import ScriptBuilder

    builder = ScriptBuilder.start()

    from holdfastd.parent import parent_process, preload

    preload.import_modules()
    if builder is not None:
        builder.take()
    preload.preload()
    assert parent_process


def import_dashboard() -> None:
    """Import what the dashboard needs, if the extra `web` is installed."""
    from holdfastd.parent import lean_imports

    lean_imports.prepare(telemetry=False)  # before others import the same
    with suppress(ModuleNotFoundError):
        from holdfastd.web import web_process

        assert web_process


IMPORTS: Mapping[str, Callable[[], None]] = MappingProxyType({"start": import_pool, "web": import_dashboard})


def _begin(settings: Settings) -> None:
    from holdfast_config import logging
    from holdfast_config.secret_values import hide_secrets

    hide_secrets(settings)
    logging.configure(settings.log_level, settings.log_format)
