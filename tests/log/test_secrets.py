"""Planted secrets appear nowhere: not in the log at level debug, not in what commands print, not in metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest

from holdfast_config.secret_texts import SecretTexts
from tests.servers import serve

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds; reached only by a test that fails
PASSWORD = 'pass"word/of+the€url'
PLANTED = {
    "OPENAI_API_KEY": "sk-planted-api-key-1",
    "GITHUB_TOKEN": "ghp_planted_token_2",
    "APP_SECRET": 'planted\\secret"3',
    "HOLDFAST_WEBHOOK_URL": "http://127.0.0.1:9/services/planted-hook-5?sig=planted-sig-6",
}
IN_FILE = "whsec_cGxhbnRlZC1pbi1hLWZpbGUtNw=="
MAIN = ("-c", "from holdfastd.cli.main import main; main()")


def secrets() -> list[str]:
    forms = [PASSWORD, quote(PASSWORD, safe=""), "of+the", "of%2Bthe", IN_FILE, "planted"]
    return [*forms, *PLANTED.values()]


@dataclass
class Started:
    """A `supervisor start` and the lines that it has printed so far."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list[str])
    _grown: threading.Condition = field(default_factory=threading.Condition)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._grown:
                self.lines.append(line)
                self._grown.notify_all()

    def until(self, text: str) -> str:
        def found() -> str | None:
            return next((line for line in self.lines if text in line), None)

        with self._grown:
            line = self._grown.wait_for(found, PATIENCE)
        assert line, "".join(self.lines)
        return line


@dataclass(frozen=True)
class Place:
    """A store that asks for its password, a settings file, and an environment with secrets."""

    folder: Path
    environ: dict[str, str]

    def run(self, *words: str) -> str:
        """All that a command prints."""
        command = [sys.executable, *MAIN, *words]
        done = subprocess.run(
            command, env=self.environ, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return done.stdout

    @contextmanager
    def started(self, *words: str) -> Iterator[Started]:
        command = [sys.executable, *MAIN, "start", "tests.log.leaky:handle", "--log-level", "debug", *words]
        with subprocess.Popen(
            command,
            env=self.environ,
            cwd=self.folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            started = Started(process)
            reader = threading.Thread(target=started.read)
            reader.start()
            try:
                yield started
                process.terminate()
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()
                reader.join(PATIENCE)


@pytest.fixture
def place(short_path: Path) -> Iterator[Place]:
    (short_path / "server").mkdir()
    with serve(short_path / "server", "--requirepass", PASSWORD) as server:
        path = server.url.removeprefix("unix://")
        url = f"unix://default:{quote(PASSWORD, safe='')}@{path}"
        (short_path / "supervisor.toml").write_text(f'webhook_secret = "{IN_FILE}"\nwebhook_allow_private = true\n')
        (short_path / "supervisor.toml").chmod(0o600)
        folders = {"HOLDFAST_RUNTIME_DIR": str(short_path / "run"), "HOLDFAST_STATE_DIR": str(short_path / "state")}
        found = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        yield Place(short_path, {**os.environ, **PLANTED, **folders, **found, "REDIS_URL": url})


def leaked(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(secret in line for secret in secrets())]


def test_no_secret_is_in_what_a_service_and_its_commands_print(place: Place) -> None:
    with place.started("--metrics", "0", "--max-attempts", "1") as service:
        address = service.until("metrics at ").split("metrics at ")[1].strip()
        service.until("1 worker ready")
        place.run("submit", "hello", "--wait")
        task = json.loads(service.until("task failed"))["task"]
        service.until("a webhook could not be delivered")
        told = [
            place.run("--json", "status"),
            place.run("status"),
            place.run("doctor"),
            place.run("config", "show"),
            place.run("workers", "--deaths"),
            place.run("stats"),
            place.run("top", "--once"),
            place.run("lanes", "list"),
            place.run("why", task),
            place.run("tasks", "show", task),
            place.run("events"),
        ]
        with urllib.request.urlopen(address, timeout=PATIENCE) as page:
            told.append(page.read().decode())
    assert all(told)
    log = "".join(service.lines)
    for text in ("OPENAI_API_KEY=***", "REDIS_URL=", "Traceback", "task failed", "task claimed"):
        assert text in log
    assert leaked(log) == []
    assert leaked("\n".join(told)) == []


def test_no_secret_is_in_the_error_of_a_handler_that_cannot_be_imported(place: Place) -> None:
    place.environ["LEAK_AT_IMPORT"] = "1"
    text = place.run("start", "tests.log.leaky:handle", "--log-level", "debug")
    assert "cannot reach unix://default:***@" in text
    assert leaked(text) == []


def test_no_secret_is_in_the_error_of_a_store_that_refuses_the_password(place: Place) -> None:
    place.environ["REDIS_URL"] = place.environ["REDIS_URL"].replace("default:", "nobody:")
    text = place.run("start", "tests.log.leaky:handle", "--log-level", "debug") + place.run("doctor")
    assert "nobody:***@" in text
    assert leaked(text) == []


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("redis://user:other@host/0 and amqp://:pw@h", "redis://user:***@host/0 and amqp://:***@h"),
        ("http://host:80/path mail to a@b.c", "http://host:80/path mail to a@b.c"),
        ("a top-secret word", "a *** word"),
        ('top%2Fsecret%22 or top/secret\\" or top/secret"', "*** or *** or ***"),
        ("nothing here", "nothing here"),
    ],
)
def test_secrets_are_masked_in_each_way_they_can_be_written(text: str, masked: str) -> None:
    texts = SecretTexts()
    texts.hide(["top-secret", 'top/secret"', ""])
    assert texts.mask(text) == masked


def test_a_secret_that_a_line_has_as_a_number_leaves_it_json() -> None:
    code = """
import structlog
from holdfast_config import logging, secret_texts
secret_texts.hide(["12345678"])
logging.configure("info", "json")
structlog.get_logger("test").info("paid", pin=12345678, note="of 12345678", parts=[1, 12345678])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    line = json.loads(done.stderr)
    assert (line["event"], line["pin"], line["note"], line["parts"]) == ("paid", "***", "of ***", "[1, ***]")
