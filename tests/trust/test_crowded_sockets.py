"""Members of the service's group that hold its unix sockets: nobody else is kept out, as real users meet it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.trust.serving import serving
from tests.users import MEMBER, SERVICE, User, needs_users

ADA, ROOT = User(SERVICE), User(0)
CROWD = [User(MEMBER, groups=[SERVICE]), User(64_004, groups=[SERVICE])]
OTHER_MEMBER = User(64_005, groups=[SERVICE])
FEW_FILES = ("bash", "-c", 'ulimit -n 256; exec "$@"', "-")

# Holds so many connections to a socket, after this text, and opens a new one for each that ends.
HOLD = """
import os, socket, sys, time
os.nice(19)  # it is to crowd the socket, not the processors
path, number, text = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
held = []
def is_open(stream):
    try:
        return stream.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
while True:
    held = [stream for stream in held if is_open(stream)]
    while len(held) < number:
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(1)
        try:
            stream.connect(path)
            stream.sendall(text)
        except OSError:
            break
        stream.setblocking(False)
        held.append(stream)
    print("held", flush=True)
    time.sleep(0.01)
"""
ASK = """
import socket, sys
stream = socket.socket(socket.AF_UNIX)
stream.settimeout(20)
stream.connect(sys.argv[1])
stream.sendall(b"GET /healthz HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n")
print(stream.recv(100)[9:12].decode())
"""


@pytest.fixture
def home(short_path: Path) -> Path:
    needs_users()
    short_path.chmod(0o755)
    return ADA.folder(short_path / "ada", 0o755)


@contextmanager
def holding(user: User, path: Path, number: int, text: str, home: Path) -> Iterator[None]:
    process = user.popen_python("-c", HOLD, str(path), str(number), text, cwd=home, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        for _ in range(3):  # those that gave way have been replaced
            assert process.stdout.readline() == "held\n"
        yield
    finally:
        process.kill()
        process.stdout.close()
        process.wait(60)


def test_a_crowded_control_socket_keeps_out_neither_the_owner_nor_another_member(home: Path) -> None:
    places = ("--runtime-dir", str(home / "run"), "--state-dir", str(home / "state"))
    with serving(ADA, *places, cwd=home), ExitStack() as crowd:
        (path,) = (home / "run").glob("**/control.sock")
        for each in CROWD:
            crowd.enter_context(holding(each, path, 64, '{"verb": "sta', home))
        for user in (ADA, ROOT, OTHER_MEMBER):
            answer = user.supervisor("status", *places[:2], cwd=home)
            assert answer.status == 0, (user, answer.err)
        assert ADA.supervisor("scale", "2", *places[:2], cwd=home).status == 0


def test_a_crowded_socket_of_the_dashboard_keeps_out_no_other_user(home: Path) -> None:
    places = ("--runtime-dir", str(home / "run"), "--state-dir", str(home / "state"))
    path = home / "web.sock"
    with serving(ADA, *places, "--web", f"unix:{path}", cwd=home, before=FEW_FILES), ExitStack() as crowd:
        for each in CROWD:
            crowd.enter_context(holding(each, path, 250, "GET /healthz HTTP/1.1\r\nx: ", home))
        for user in (ADA, ROOT, OTHER_MEMBER):
            answer = user.python("-c", ASK, str(path), cwd=home)
            assert answer.out == "200\n", (user, answer.err)
