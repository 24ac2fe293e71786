"""Users of a file: their passwords, roles and sessions, and what a proxy may say of them."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest

from holdfast_config import RedisSettings, web_users
from holdfast_config.addresses import parse_proxy
from holdfast_config.web_users import Role, User
from holdfastd.web.access.accounts import Accounts, TooManyLoginsError, UsersFile
from holdfastd.web.access.logins import FREE, FREE_OF_ACCOUNT, FREE_OF_ADDRESS, MOST, WAIT, LoginAttempts
from holdfastd.web.access.proxy import Proxy
from tests.web.site import HTML, TOKEN, site

pytestmark = pytest.mark.anyio

ADA, GRACE = "ada lovelace's", "pässword of grace"
HASHES = {"ada": web_users.make(ADA), "grace": web_users.make(GRACE)}
KEY = base64.b64encode(bytes(32)).decode()
PROXY = Proxy(parse_proxy("X-User@192.0.2.7"))


def write(path: Path, **roles: Role) -> UsersFile:
    """A file with these users; their passwords are known."""
    path.write_text(
        "# users\n\n" + "".join(f"{User(name, role, HASHES.get(name, ''))}\n" for name, role in roles.items())
    )
    path.chmod(0o600)
    return UsersFile(path)


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return Accounts(TOKEN, users=write(tmp_path / "users", ada=Role.OPERATOR, grace=Role.VIEWER, nobody=Role.OPERATOR))


def basic(name: str, password: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}


async def test_a_user_logs_in_and_activity_names_them(redis_settings: RedisSettings, accounts: Accounts) -> None:
    async with site(redis_settings, accounts=accounts) as here:
        form = (await here.stranger.get("/login")).text
        assert 'name="name"' in form
        assert 'name="password"' in form
        here.browser.cookies.clear()
        assert (await here.browser.post("/login", data={"name": "ada", "password": ADA})).status_code == 303
        await here.change("/lanes/pause", lane=redis_settings.queue)
        (done,) = await here.store.activity_before("", 10)
        assert (done.who, done.outcome) == ("ada", "")


@pytest.mark.parametrize(
    ("name", "password"),
    [("ada", GRACE), ("ada", ""), ("nobody", ""), ("nobody", ADA), ("unknown", ADA), ("", ADA), ("\x00", ADA)],
)
async def test_a_wrong_login_is_refused(
    redis_settings: RedisSettings, accounts: Accounts, name: str, password: str
) -> None:
    async with site(redis_settings, accounts=accounts) as here:
        answer = await here.stranger.post("/login", data={"name": name, "password": password, "token": ""})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        assert (await here.stranger.get("/lanes", headers=basic(name, password))).status_code == 401


async def test_a_program_logs_in_by_basic_and_has_its_role(redis_settings: RedisSettings, accounts: Accounts) -> None:
    async with site(redis_settings, accounts=accounts) as here:
        for _ in range(2):
            assert (await here.stranger.get("/lanes", headers=basic("grace", GRACE))).status_code == 200
        form = {"lane": redis_settings.queue}
        refused = await here.stranger.post("/lanes/pause", data=form, headers=basic("grace", GRACE))
        assert (refused.status_code, "viewer" in refused.text) == (403, True)
        assert (await here.stranger.post("/lanes/pause", data=form, headers=basic("ada", ADA))).status_code == 303
        asks = (await here.stranger.get("/lanes")).headers["www-authenticate"]
        assert "Basic" in asks
        asked_by_browser = await here.stranger.get("/lanes", headers={"sec-fetch-mode": "cors"})
        assert asked_by_browser.headers["www-authenticate"] == "Bearer", "no window of the browser asks for a password"


async def test_basic_that_a_browser_remembers_is_of_no_use_to_another_site(
    redis_settings: RedisSettings, accounts: Accounts
) -> None:
    async with site(redis_settings, accounts=accounts) as here:
        form = {"lane": redis_settings.queue}
        for foreign in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}, {"origin": "null"}):
            answer = await here.stranger.post("/lanes/pause", data=form, headers=basic("ada", ADA) | foreign)
            assert answer.status_code == 403
        own = basic("ada", ADA) | {"origin": "http://127.0.0.1"}
        assert (await here.stranger.post("/lanes/pause", data=form, headers=own)).status_code == 303


async def test_a_viewer_token_reads(redis_settings: RedisSettings) -> None:
    viewer = "the token of a viewer"
    async with site(redis_settings, accounts=Accounts(TOKEN, viewer_token=viewer)) as here:
        login = {"authorization": f"Bearer {viewer}"}
        assert (await here.stranger.get("/lanes", headers=login)).status_code == 200
        answer = await here.stranger.post("/lanes/pause", data={"lane": redis_settings.queue}, headers=login)
        assert answer.status_code == 403


async def test_a_session_ends_with_its_user_or_password_and_has_the_role_of_now(
    redis_settings: RedisSettings, accounts: Accounts, tmp_path: Path
) -> None:
    path = tmp_path / "users"
    async with site(redis_settings, accounts=accounts) as here:

        async def log_in() -> None:
            here.browser.cookies.clear()
            assert (await here.browser.post("/login", data={"name": "ada", "password": ADA})).status_code == 303

        async def status() -> int:
            return (await here.browser.get("/lanes")).status_code

        await log_in()
        write(path, ada=Role.VIEWER)
        assert await status() == 200
        assert (await here.change("/lanes/pause", lane=redis_settings.queue)).status_code == 403
        path.write_text(f"ada:viewer:{web_users.make('another one')}\n")
        assert await status() == 401
        write(path, ada=Role.VIEWER)
        await log_in()
        write(path, grace=Role.VIEWER)
        assert await status() == 401
        write(path, ada=Role.VIEWER)
        await log_in()
        path.chmod(0o644)
        assert await status() == 401, "a file that others read has no users"
        path.chmod(0o600)
        assert await status() == 200


@pytest.fixture
def long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait passes while a busy machine checks the passwords: a wait that has passed forgives a wrong login."""
    monkeypatch.setattr("holdfastd.web.access.logins.WAIT", 3600.0)


@pytest.mark.usefixtures("long_wait")
async def test_guesses_cost_a_wait_and_lock_nobody_else_out(redis_settings: RedisSettings, accounts: Accounts) -> None:
    async with site(redis_settings, accounts=accounts) as here:
        for _ in range(FREE):
            assert (await here.stranger.get("/lanes", headers=basic("ada", "wrong"))).status_code == 401
        answer = await here.stranger.get("/lanes", headers=basic("ada", ADA))
        assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (429, True)
        answer = await here.stranger.post("/login", data={"name": "ada", "password": ADA})
        assert (answer.status_code, "try again in" in answer.text) == (429, True)
        assert (await here.stranger.get("/lanes", headers=basic("grace", GRACE))).status_code == 200
        assert (await here.program.get("/lanes")).status_code == 200


@pytest.mark.usefixtures("long_wait")
async def test_guesses_at_once_count_for_each_other(redis_settings: RedisSettings, accounts: Accounts) -> None:
    async with site(redis_settings, accounts=accounts) as here:

        async def guess(name: str, password: str) -> int:
            return (await here.stranger.get("/lanes", headers=basic(name, password))).status_code

        guesses = await asyncio.gather(*(guess("ada", f"wrong {number}") for number in range(FREE + 10)))
        assert (guesses.count(401), guesses.count(429)) == (FREE, 10)
        assert set(await asyncio.gather(*(guess("grace", GRACE) for _ in range(FREE + 10)))) == {200}


async def test_password_checks_that_have_ended_leave_room_for_others(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfastd.web.access.accounts.MOST_AT_ONCE", 2)
    for _ in range(2):
        wrong = (accounts.with_password("ada", f"wrong {number}") for number in range(3))
        answers = await asyncio.gather(*wrong, return_exceptions=True)
        assert [type(answer) for answer in answers] == [type(None), type(None), TooManyLoginsError]
    assert await accounts.with_password("ada", ADA) == accounts.named("ada")


def test_a_wrong_login_is_forgiven_for_each_wait_that_has_passed() -> None:
    """After FREE wrong logins and two waits, the next wrong login counts as the (FREE - 1)th."""
    attempts = LoginAttempts()
    for _ in range(FREE):
        attempts.failed("192.0.2.1", 100.0)
    later = 100.0 + 2 * WAIT
    attempts.failed("192.0.2.1", later)
    assert attempts.wait("192.0.2.1", later) == 0
    attempts.failed("192.0.2.1", later)
    assert attempts.wait("192.0.2.1", later) == WAIT


def test_attempts_are_free_again_after_a_while_and_few_are_remembered() -> None:
    attempts = LoginAttempts()
    for _ in range(FREE):
        assert attempts.wait("192.0.2.1", 100.0) == 0
        attempts.failed("192.0.2.1", 100.0)
    assert attempts.wait("192.0.2.1", 100.0) == WAIT
    assert attempts.wait("192.0.2.2", 100.0) == 0
    assert attempts.wait("192.0.2.1", 100.0 + WAIT) == 0
    attempts.failed("192.0.2.1", 100.0 + WAIT)
    assert attempts.wait("192.0.2.1", 100.0 + WAIT) == WAIT
    attempts.succeeded("192.0.2.1")
    assert attempts.wait("192.0.2.1", 100.0 + WAIT) == 0
    for number in range(MOST + 10):
        attempts.failed(f"address {number}", 200.0, f"account {number}")
        attempts.succeeded(f"address {number}", f"account {number}")
    assert max(len(attempts._failed), len(attempts._known)) <= MOST


def test_guesses_from_everywhere_slow_down_new_places_alone() -> None:
    attempts = LoginAttempts()
    attempts.succeeded("192.0.2.1", "ada")
    for number in range(FREE_OF_ACCOUNT):
        attempts.failed(f"198.51.100.{number}", 100.0, "ada")
    assert attempts.wait("192.0.2.1", 100.0, "ada") == 0
    assert attempts.wait("192.0.2.2", 100.0, "ada") == WAIT
    assert attempts.wait("192.0.2.2", 100.0, "grace") == 0
    for number in range(FREE_OF_ADDRESS):
        attempts.failed(f"2001:db8::{number:x}", 100.0, f"user {number}")
    assert attempts.wait("2001:db8::ffff", 100.0, "grace") == WAIT, "one network of IPv6 is one address"
    assert attempts.wait("2001:db8:0:1::", 100.0, "grace") == 0


def test_clients_of_ipv4_that_a_socket_of_ipv6_takes_are_told_apart() -> None:
    """As `--web '[::]:8080'` has them: the guesses of one would lock all others out."""
    attempts = LoginAttempts()
    for number in range(FREE_OF_ADDRESS):
        attempts.failed("::ffff:192.0.2.1", 100.0, f"user {number}")
    assert attempts.wait("::ffff:192.0.2.1", 100.0, "ada") == WAIT
    assert attempts.wait("192.0.2.1", 100.0, "ada") == WAIT, "the same client"
    assert attempts.wait("::ffff:192.0.2.2", 100.0, "ada") == 0


async def test_a_program_of_this_host_may_connect_beside_the_proxy_also_to_a_socket_of_ipv6(
    redis_settings: RedisSettings,
) -> None:
    alone = Proxy(parse_proxy("X-User@192.0.2.7"), alone=True)
    for address, status in (("::ffff:127.0.0.1", 200), ("::ffff:192.0.2.8", 403)):
        async with site(redis_settings, proxy=alone, peer=(address, 4000)) as here:
            assert (await here.program.get("/lanes")).status_code == status


def test_a_users_file_with_the_size_and_time_of_before_is_read_again(tmp_path: Path) -> None:
    """As a copy that keeps times, written over the file in its place, has them."""
    path, one, other = tmp_path / "users", "ada:viewer\n", "bob:viewer\n"
    path.write_text(one)
    path.chmod(0o600)
    os.utime(path, (1e9, 1e9))
    users = UsersFile(path)
    assert users.user("ada")
    path.write_text(other)
    os.utime(path, (1e9, 1e9))
    assert (users.user("ada"), users.user("bob") is not None) == (None, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ada", "the role must be viewer or operator"),
        ("ada:king", "the role must be"),
        ("ada:viewer:secret", "the hash of ada is no hash"),
        ("ada:viewer:scrypt$1073741824$8$1$c2FsdA==$a2V5", "is no hash"),
        (f"ada:viewer:scrypt$65536$1$1$c2FsdA==${KEY}", "is no hash"),
        (f"ada:viewer:scrypt$16383$8$1$c2FsdA==${KEY}", "is no hash"),
        (f"ada:viewer:scrypt$1$8$1$c2FsdA==${KEY}", "is no hash"),
        (f"ada:viewer:scrypt$2$200000$20$c2FsdA==${KEY}", "is no hash"),
        ("token:viewer", "the name token is taken"),
        (":viewer", "a name must have"),
        ("a\x07:viewer", "printable"),
        ("ada:viewer\nada:operator", "line 2: user ada is in an earlier line"),
    ],
)
def test_a_users_file_that_is_wrong_is_refused_in_a_line_without_its_secrets(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "users"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ValueError, match="line") as refused:
        web_users.read(path)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_users_file_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "users", 0o600)
    with pytest.raises(ValueError, match="is no regular file"):
        web_users.read(tmp_path / "users")


def test_an_editor_may_mark_the_file_as_utf_8(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("ada:viewer", "utf-8-sig")
    (tmp_path / "users").chmod(0o600)
    assert [*web_users.read(tmp_path / "users")] == ["ada"]


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o620, 0o644])
def test_a_users_file_that_others_reach_is_refused(tmp_path: Path, mode: int) -> None:
    write(tmp_path / "users", ada=Role.VIEWER)
    (tmp_path / "users").chmod(mode)
    with pytest.raises(ValueError, match=f"mode {mode:o}.*chmod 600"):
        web_users.read(tmp_path / "users")


async def test_the_proxy_names_the_user_who_has_the_role_of_the_file(
    redis_settings: RedisSettings, accounts: Accounts
) -> None:
    async with site(redis_settings, accounts=accounts, proxy=PROXY) as here:
        here.browser.headers["x-user"] = "nobody"
        here.browser.headers["x-forwarded-for"] = "203.0.113.9, 198.51.100.4, 192.0.2.7"
        assert "Log out" not in await here.page("/lanes")
        assert (await here.browser.post("/lanes/pause", data={"lane": redis_settings.queue})).status_code == 403, "csrf"
        assert (await here.change("/lanes/pause", lane=redis_settings.queue)).status_code == 303
        done, _ = await here.store.activity_before("", 10)
        assert (done.who, done.origin) == ("nobody", "198.51.100.4")
        here.browser.headers["x-user"] = "grace"
        assert (await here.browser.post("/lanes/pause", data={"lane": redis_settings.queue})).status_code == 403
        here.browser.headers["x-user"] = "stranger"
        answer = await here.browser.get("/lanes")
        assert (answer.status_code, "--web-proxy-role" in answer.text) == (403, True)


@pytest.mark.parametrize("name", ["token", "viewer-token"])
async def test_a_user_of_the_proxy_cannot_be_taken_for_a_token(redis_settings: RedisSettings, name: str) -> None:
    accounts = Accounts(TOKEN, of_stranger=Role.OPERATOR)
    async with site(redis_settings, accounts=accounts, proxy=PROXY) as here:
        here.browser.headers["x-user"] = name
        assert (await here.browser.get("/lanes")).status_code == 403


async def test_without_its_header_the_proxy_gets_nothing_but_with_a_token(
    redis_settings: RedisSettings, accounts: Accounts
) -> None:
    accounts.of_stranger = Role.VIEWER
    async with site(redis_settings, accounts=accounts, proxy=PROXY) as here:
        for path in ("/lanes", "/login"):
            assert (await here.stranger.get(path, headers=HTML)).status_code == 401
        assert (await here.stranger.get("/healthz")).status_code == 200
        assert (await here.program.get("/lanes")).status_code == 200
        twice = [("x-user", "ada"), ("x-user", "grace")]
        assert (await here.stranger.get("/lanes", headers=twice)).status_code == 400
        for wrong in (b"\xff", b"a" * 101):
            assert (await here.stranger.get("/lanes", headers={b"x-user": wrong})).status_code == 400
        assert (await here.stranger.get("/lanes", headers={"x-user": "anybody"})).status_code == 200


async def test_the_header_of_anybody_else_does_not_count(redis_settings: RedisSettings, accounts: Accounts) -> None:
    async with site(redis_settings, accounts=accounts, proxy=PROXY, peer=("192.0.2.8", 1)) as here:
        spoofed = {"x-user": "nobody", "x-forwarded-for": "127.0.0.1"}
        assert (await here.stranger.get("/lanes", headers=spoofed)).status_code == 401
        form = {"lane": redis_settings.queue}
        assert (await here.program.post("/lanes/pause", data=form, headers=spoofed)).status_code == 303
        (done,) = await here.store.activity_before("", 10)
        assert (done.who, done.origin) == ("token", "192.0.2.8")
    alone = Proxy(PROXY.trusted, alone=True)
    async with site(redis_settings, accounts=accounts, proxy=alone, peer=("192.0.2.8", 1)) as here:
        answer = await here.program.get("/lanes")
        assert (answer.status_code, "no TLS" in answer.text) == (403, True)


async def test_a_proxy_may_use_the_unix_socket(redis_settings: RedisSettings, accounts: Accounts) -> None:
    async with site(redis_settings, accounts=accounts, proxy=Proxy(parse_proxy("X-User@unix")), peer=None) as here:
        assert (await here.stranger.get("/lanes", headers={"x-user": "ada"})).status_code == 200
        assert (await here.stranger.get("/lanes")).status_code == 401


@pytest.mark.parametrize(
    "text", ["", "X-User", "@10.0.0.1", "X-User@", "X-User@proxy", "Cookie@unix", "X User@unix", "X-User@0.0.0.0/0"]
)
def test_a_proxy_that_is_no_proxy_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be HEADER@ADDRESS|this network contains every host"):
        parse_proxy(text)


def test_a_proxy_is_an_address_a_network_or_the_unix_socket() -> None:
    one, many, unix = map(parse_proxy, ("Remote-User@10.0.0.7", "Remote-User@10.0.0.0/24", "Remote-User@unix"))
    assert [str(each) for each in (one, many, unix)] == [
        "remote-user@10.0.0.7",
        "remote-user@10.0.0.0/24",
        "remote-user@unix",
    ]
    peers = ("10.0.0.7", "::ffff:10.0.0.7", "10.0.0.8", "10.0.1.7", "", None)
    assert [[each.is_peer(peer) for peer in peers] for each in (one, many, unix)] == [
        [True, True, False, False, False, False],
        [True, True, True, False, False, False],
        [False] * 5 + [True],
    ]


def test_a_hash_has_a_salt_of_its_own_and_fits_its_password_alone() -> None:
    assert web_users.matches(ADA, HASHES["ada"])
    assert not web_users.matches(GRACE, HASHES["ada"])
    assert web_users.make(ADA) != HASHES["ada"]
    assert not web_users.matches(ADA, web_users.unknown())
