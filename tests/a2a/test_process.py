"""The agent beside the dashboard: off unless asked for, changed by operators alone, as its page shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.a2a.conftest import serving
from tests.a2a.thin_client import ThinClient
from tests.docs.test_code_blocks import ROOT, blocks
from tests.servers import valkey
from tests.web.test_process import LOGIN, TOKEN, alone

PAGE = ROOT / "docs/a2a.md"


def test_without_the_setting_there_is_no_agent(short_path: Path) -> None:
    with valkey(short_path) as url, alone(short_path, url, "0") as (_, address):
        assert httpx.get(f"{address}.well-known/agent-card.json").status_code == 404
        assert httpx.post(f"{address}a2a", json={}, headers=LOGIN).status_code == 404


def test_a_viewer_reads_tasks_and_sends_none(short_path: Path) -> None:
    (short_path / "supervisor.toml").write_text("web_a2a = true\nweb_read_only = true\n")
    with valkey(short_path) as url, alone(short_path, url, "0") as (_, address), httpx.Client(timeout=60) as http:
        for version, methods in (
            ("1.0", ("SendMessage", "SendStreamingMessage", "CancelTask")),
            ("0.3", ("message/send", "message/stream", "tasks/cancel")),
        ):
            client = ThinClient(address.rstrip("/"), http, version, TOKEN)
            for method in methods:
                answer = client.post(method, client.sending("hello") | {"id": "none"})
                assert (answer.status_code, "viewer" in answer.json()["error"]["message"]) == (403, True)
        assert ThinClient(address.rstrip("/"), http).call("ListTasks")["tasks"] == []


@pytest.mark.slow
def test_the_client_of_the_page_talks_to_the_agent_of_the_page(short_path: Path) -> None:
    [program] = blocks(PAGE, "python")
    *_, shown = blocks(PAGE, "console")
    with serving(short_path, "examples.concierge:handlers") as pool:
        (short_path / "talk.py").write_text(program.replace("http://127.0.0.1:8080", pool.base))
        done = subprocess.run([sys.executable, short_path / "talk.py"], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == shown.splitlines()[1:]
        card = pool.http.get(f"{pool.base}/.well-known/agent-card.json").json()
        assert ("menu", "Lists the dishes of a course.") in [(one["id"], one["description"]) for one in card["skills"]]
