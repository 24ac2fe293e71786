"""The dashboard as a process: a child of the supervisor, and by itself."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.certificates import certificates
from tests.cli.commands import Cli, clean
from tests.cli.conftest import running
from tests.forked import COMMAND, SUPERVISOR, Program, popen
from tests.servers import valkey

TOKEN = "a-token-of-sixteen-or-more"
LOGIN = {"authorization": f"Bearer {TOKEN}"}


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


def page(port: int, path: str) -> httpx.Response:
    """The page, asked for again until the process listens again."""
    transport = httpx.HTTPTransport(retries=0)
    with httpx.Client(transport=transport, timeout=60) as client:
        return client.get(f"http://127.0.0.1:{port}{path}", headers=LOGIN)


def web_pid(cli: Cli) -> int:
    (found,) = [each for each in cli("status", "--json").document["processes"] if each["kind"] == "web"]
    return int(found["pid"])


def test_a_pool_serves_it_and_it_takes_nothing_with_it_when_it_dies(short_path: Path) -> None:
    port = free_port()
    options = ("--workers", "1", "--web", str(port), "examples.wordcount:handle")
    with running(short_path, *options, environ={"HOLDFAST_WEB_TOKEN": TOKEN}) as (cli, process):
        assert cli("submit", "one two", "--task-id", "t", "--wait").status == 0
        assert "one two" in page(port, "/task?id=t").text
        before = web_pid(cli)
        os.kill(before, signal.SIGKILL)
        assert "one two" in page(port, "/task?id=t").text, "connections wait for the next web process"
        assert web_pid(cli) != before
        assert cli("submit", "three", "--wait").status == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_web_process_that_never_starts_ends_nothing(short_path: Path) -> None:
    """Its certificate cannot be read any more: it is started again and again, and says so; tasks run."""
    made = certificates(short_path)
    tls = ("--web-cert-file", str(made.certificate), "--web-key-file", str(made.key))
    with running(short_path, "--workers", "1", "--web", "0", *tls, "examples.wordcount:handle") as (cli, _):
        before = web_pid(cli)
        made.certificate.write_text("nothing")
        os.kill(before, signal.SIGKILL)
        while restarts(cli) < 4:
            assert cli("submit", "one two", "--wait").status == 0


def restarts(cli: Cli) -> int:
    """Of the web process, so far."""
    status = cli("status", "--json").document
    return sum(death["kind"] == "web" for death in status["deaths"]["recent"])


@contextmanager
def alone(folder: Path, url: str, *words: str, token: str = TOKEN) -> Iterator[tuple[Program, str]]:
    """`supervisor web` on a free port; its address."""
    environ = clean({"HOLDFAST_WEB_TOKEN": token} if token else {})
    process = popen(
        COMMAND, ["web", *words, "--redis-url", url], cwd=folder, env=environ, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    try:
        line = next(line for line in process.stderr if "dashboard at" in line)
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_by_itself_it_serves_any_store_and_a_signal_ends_it(short_path: Path, number: signal.Signals) -> None:
    with valkey(short_path) as url, alone(short_path, url, "0") as (process, address):
        assert "<h1>Lanes</h1>" in httpx.get(f"{address}lanes", headers=LOGIN).text
        process.send_signal(number)
        assert process.wait(60) == 0


def test_without_a_token_of_the_settings_one_is_printed_and_counts(short_path: Path) -> None:
    with valkey(short_path) as url:
        words = ["web", "0", "--redis-url", url]
        process = popen(COMMAND, words, cwd=short_path, env=clean({}), stderr=subprocess.PIPE, text=True)
        assert process.stderr
        try:
            address = next(line for line in process.stderr if "dashboard at" in line).split()[-1]
            token = next(
                found[1] for line in process.stderr if (found := re.search(r"token of the dashboard: (\S+)", line))
            )
            answer = httpx.get(f"{address}lanes", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 200
            assert httpx.get(f"{address}lanes", headers=LOGIN).status_code == 401
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


def test_with_a_certificate_the_address_that_is_told_is_one_of_https(short_path: Path) -> None:
    made = certificates(short_path)
    tls = ("--web-cert-file", str(made.certificate), "--web-key-file", str(made.key))
    with valkey(short_path) as url, alone(short_path, url, "0", *tls) as (_, address):
        assert address.startswith("https://")
        assert httpx.get(f"{address}lanes", headers=LOGIN, verify=False).status_code == 200


def test_a_unix_socket_serves_it(short_path: Path) -> None:
    place = short_path / "web.sock"
    client = httpx.Client(transport=httpx.HTTPTransport(uds=str(place)))
    with valkey(short_path) as url, alone(short_path, url, f"unix:{place}"), client:
        assert client.get("http://localhost/lanes", headers=LOGIN).status_code == 200


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("web", "0.0.0.0:0"), 78, "in clear"),
        (("web", "0.0.0.0:0", "--web-trust-proxy", "X-User@10.0.0.7"), 78, "nobody could log in"),
        (("web", "0", "--web-trust-proxy", "X-User@unix"), 78, "never connects to --web 127.0.0.1:0"),
        (("web", "0", "--web-trust-proxy", "X-User"), 78, "HEADER@ADDRESS"),
        (("web", "0", "--web-users-file", "none"), 78, "cannot be read"),
        (("web", "0", "--web-redact", "a b"), 78, "--web-redact"),
        (("web", "somewhere:8080:90"), 2, "HOST:PORT"),
    ],
)
def test_an_address_that_cannot_be_is_one_line(cli: Cli, words: tuple[str, ...], status: int, says: str) -> None:
    answer = cli(*words)
    assert (answer.status, says in answer.err, answer.err.count("\n")) == (status, True, 1), answer.err


def test_a_taken_port_is_named(cli: Cli) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        answer = cli("web", str(port))
        assert (answer.status, f"--web 127.0.0.1:{port}" in answer.err) == (78, True), answer.err


@pytest.mark.parametrize("token", ["short", "with a space in it", "ü" * 20])
def test_a_token_that_can_be_guessed_is_refused(cli: Cli, token: str) -> None:
    answer = Cli(cli.folder, cli.options, {"HOLDFAST_WEB_TOKEN": token})("web", "0")
    assert (answer.status, "HOLDFAST_WEB_TOKEN" in answer.err, token in answer.err) == (78, True, False), answer.err


def test_a_store_that_does_not_answer_at_the_start_is_named(short_path: Path) -> None:
    answer = Cli(short_path, ("--redis-url", f"unix://{short_path}/none.sock"))("web", "0")
    assert (answer.status, "none.sock" in answer.err) == (69, True), answer.err


def test_a_line_of_web_user_lets_the_user_in(short_path: Path) -> None:
    cli = Cli(short_path)
    answer = cli("web-user", "ada", "--role", "operator", stdin="pässword of ada\n".encode())
    assert (answer.status, "pässword" in answer.out) == (0, False), answer.err
    users = short_path / "users"
    users.write_text(answer.out + cli("web-user", "grace", "--no-password").out)
    words = ("0", "--web-users-file", str(users))
    users.chmod(0o644)
    refused = cli("web", *words)
    assert (refused.status, "chmod 600" in refused.err, refused.err.count("\n")) == (78, True, 1), refused.err
    users.chmod(0o600)
    with valkey(short_path) as url, alone(short_path, url, *words, token="") as (process, address):
        assert httpx.get(f"{address}lanes", auth=("ada", "pässword of ada")).status_code == 200
        assert httpx.get(f"{address}lanes", auth=("grace", "")).status_code == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_through_a_proxy_at_a_unix_socket_users_log_in_by_its_header(short_path: Path) -> None:
    place = short_path / "web.sock"
    client = httpx.Client(transport=httpx.HTTPTransport(uds=str(place)))
    words = (f"unix:{place}", "--web-trust-proxy", "X-User@unix", "--web-proxy-role", "viewer")
    with valkey(short_path) as url, alone(short_path, url, *words, token=""), client:
        shown = client.get("http://localhost/lanes", headers={"x-user": "ada"})
        assert (shown.status_code, "<b>ada</b> viewer" in shown.text) == (200, True)
        assert client.get("http://localhost/lanes").status_code == 401


@pytest.mark.parametrize(
    ("words", "stdin", "says"),
    [
        (("a:b",), b"a password\n", "no colon"),
        (("token",), b"a password\n", "is taken"),
        (("ada",), b"short\n", "has 5 characters"),
        (("ada",), b"", "has 0 characters"),
        (("ada", "--role", "king"), b"a password\n", "king"),
    ],
)
def test_a_user_that_cannot_be_is_one_line(short_path: Path, words: tuple[str, ...], stdin: bytes, says: str) -> None:
    answer = Cli(short_path)("web-user", *words, stdin=stdin)
    assert (answer.status, answer.out, says in answer.err) == (2, "", True), answer.err


@pytest.mark.parametrize(
    ("certificate", "key", "says"),
    [
        ("none.pem", "key", "--web-cert-file {folder}/none.pem: cannot be read: No such file or directory"),
        ("certificate", "none.pem", "--web-key-file {folder}/none.pem: cannot be read: No such file or directory"),
        ("certificate", "", "not a certificate with its key in PEM"),
        ("certificate", "other", "--web-key-file {folder}/other: not a certificate with its key in PEM"),
        ("certificate", "locked", "has no password"),
        ("junk", "key", "--web-cert-file {folder}/junk and --web-key-file {folder}/key: not a certificate"),
        ("", "key", "--web-key-file {folder}/key: no certificate is set for this key"),
        ("folder", "key", "--web-cert-file {folder}/folder: cannot be read: Is a directory"),
    ],
)
def test_tls_that_cannot_be_is_refused_in_one_line(short_path: Path, certificate: str, key: str, says: str) -> None:
    (short_path / "else").mkdir()
    (short_path / "folder").mkdir()
    made, other = certificates(short_path), certificates(short_path / "else")
    locked = load_pem_private_key(made.key.read_bytes(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    texts = {"certificate": made.certificate.read_bytes(), "key": made.key.read_bytes(), "locked": locked}
    for name, text in (texts | {"other": other.key.read_bytes(), "junk": b"nothing"}).items():
        (short_path / name).write_bytes(text)
    named = {"--web-cert-file": certificate, "--web-key-file": key}
    flags = [word for flag, name in named.items() if name for word in (flag, str(short_path / name))]
    for words in (["web", "0"], ["start", "examples.wordcount:handle", "--web", "0"]):
        done = subprocess.run(
            [SUPERVISOR, *words, "--redis-url", "redis://127.0.0.1:1/0", *flags],
            cwd=short_path, env=clean({}), capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr.count("\n")) == (78, 1), done.stderr
        assert says.format(folder=short_path) in done.stderr
