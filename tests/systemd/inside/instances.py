"""A second service beside the first: an instance with a Redis that wants a password."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from tests.servers import bundled, serve
from tests.systemd.inside.listening import free_port
from tests.systemd.inside.machine import Unit, run, until
from tests.systemd.inside.scene import APP, SUPERVISOR, Scene

PASSWORD = "a-password-of-the-test"
SECRETS = Path("/etc/holdfast/credentials/billing")


def an_instance_gets_its_password_from_a_credential(scene: Scene) -> None:
    billing, port = Unit("holdfast@billing"), free_port()
    url = f"redis://127.0.0.1:{port}/0"
    options = ("--port", str(port), "--bind", "127.0.0.1", "--requirepass", PASSWORD)
    with serve(Path(mkdtemp(dir="/srv")), *options, program=bundled()):
        run(
            SUPERVISOR,
            "service",
            "install",
            "agent:handle",
            "--app-dir",
            APP,
            "--instance",
            "billing",
            "--redis-url",
            url,
        )
        run("systemctl", "daemon-reload")
        _without_password(billing)
        _with_password(billing, url)
        assert scene.unit.is_("active")
        billing.do("stop")


def _without_password(billing: Unit) -> None:
    billing.do("start", status=1)
    assert (billing.show("ActiveState"), billing.number("ExecMainStatus")) == ("failed", 78)
    assert any("NOAUTH" in line or "password" in line for line in billing.journal()), billing.journal()


def _with_password(billing: Unit, url: str) -> None:
    SECRETS.mkdir(mode=0o700)
    (SECRETS / "redis_password").write_text(f"{PASSWORD}\n")
    (SECRETS / "redis_password").chmod(0o600)
    billing.do("start")
    until("ready", lambda: billing.show("StatusText").startswith("running: 2 of 2"))
    find = ("--runtime-dir", "/run/holdfast-billing", "--redis-url", url, "--queue-name", "billing:tasks")
    command = (f"CREDENTIALS_DIRECTORY={SECRETS}", str(SUPERVISOR))
    told = run("env", *command, "submit", "version", "--wait", *find).stdout
    assert '"completed"' in told
    assert PASSWORD not in "\n".join([*billing.journal(), *_environments(billing)])


def _environments(billing: Unit) -> list[str]:
    """Of all its processes, with their command lines."""
    group = Path(f"/sys/fs/cgroup{billing.show('ControlGroup')}/cgroup.procs")
    return [
        Path(f"/proc/{pid}/{name}").read_text(errors="replace")
        for pid in group.read_text().split()
        for name in ("environ", "cmdline")
    ]
