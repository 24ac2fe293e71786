"""Commands for the supervisor that runs on this host: `stop` and `reload`."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click

from holdfast.core.words import counted
from holdfast.exits import Exit
from holdfastd.cli.common import CommandError, Session, options, output, parameters
from holdfastd.control import client
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskReload, AskStatus


@options.command(epilog="Examples: supervisor stop --timeout 120; supervisor stop --now")
@click.option(
    "--timeout", type=parameters.WAIT, metavar="SECONDS", help="Maximum time to wait for its end. Default: no limit."
)
@click.option("--now", is_flag=True, help="Cancel running tasks instead of waiting; they go back into the queue.")
@options.here
@options.pass_changing_session
def stop(session: Session, /, timeout: float | None, now: bool) -> int:
    """Stop the supervisor and wait until it has ended. Its workers claim no more tasks and finish the running ones.

    With --now the workers cancel their running tasks, which go back into the queue, as after a second SIGTERM. You can
    also give --now when a stop has begun already. The exit status is 75 if any task was canceled.
    """
    folder = session.control_dir
    code = _stopped(folder, timeout, now=now)
    if code is None:
        raise CommandError(
            f"the supervisor in {folder} still has running tasks after {timeout:g} s; see `supervisor status`"
        )
    cut_off = "; tasks that took too long were put back into the queue" if code == Exit.CUT_OFF else ""
    session.answer({"stopped": True, "exit": code}, f"stopped{cut_off}")
    return code


def _stopped(folder: Path, timeout: float | None, *, now: bool) -> int | None:
    """Stop the supervisor and return its exit status; None if it has not ended within `timeout` seconds."""
    # The control socket closes shortly before the process ends and releases its locks. So this waits for its end, too.
    deadline = None if timeout is None else time.monotonic() + timeout
    status = ask(folder, AskStatus())
    if running := sum(len(process.running) for process in status.processes):
        doing = "canceling" if now else "waiting for"
        output.note(f"{doing} {counted(running, 'running task')}; interrupting this command does not cancel the stop")
    with _watch(status.pid) as process:
        code = client.stop(folder, timeout, now=now)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if code is not None and process is not None and not select.select([process], [], [], left)[0]:
            return None
        return code


@contextmanager
def _watch(pid: int) -> Generator[int | None]:
    """A context manager with a descriptor that becomes readable when the process ends; None if the process cannot be
    watched."""
    try:
        process = os.pidfd_open(pid)
    except OSError:  # it has ended, or is in another pid namespace
        yield None
        return
    try:
        yield process
    finally:
        os.close(process)


# `supervisor reload`.


@options.command(
    epilog="Examples:\n\nsupervisor reload\n\nsupervisor reload --wait --timeout 120 || echo the old code still serves"
)
@click.option("--wait", is_flag=True, help="Wait until the new code runs, or has failed to start (exit status 1).")
@click.option("--timeout", type=parameters.WAIT, metavar="SECONDS", help="Maximum time to wait; implies --wait.")
@options.here
@options.pass_changing_session
def reload(session: Session, /, wait: bool, timeout: float | None) -> int:
    """Replace the workers by new ones that import the handler and read the settings again.

    First one new worker starts, while the old workers keep working. When it is ready, the old workers are replaced one
    by one, each after its running tasks. If the new code fails to start, the old workers stay.
    """
    folder = session.runtime_dir
    if not wait and timeout is None:
        ask(folder, AskReload())
        how = output.as_called("the log shows the result, and so does `supervisor reload --wait`")
        session.answer({"reloading": True}, f"reloading: {how}")
        return Exit.OK
    end = client.reload(folder, timeout)
    if end is None:
        raise CommandError(f"the reload has not ended after {timeout:g} s; `supervisor status` shows its progress")
    if end.error and not session.json:
        raise CommandError(f"{end.traceback}{end.error}")
    draining = f"; old workers that still finish their tasks: {end.draining}" if end.draining else ""
    waiting = f"; not applied until a restart: {', '.join(end.not_applied)}" if end.not_applied else ""
    document = {"reloaded": not end.error, "draining": end.draining, "error": end.error, "not_applied": end.not_applied}
    session.answer(document, f"reloaded{draining}{waiting}")
    return Exit.FAILED if end.error else Exit.OK
