"""Finds secrets that are known by their form, and not as `name=value`: keys of services, logins in URLs and commands,
values of flags, XML elements, fields of a multipart form.

A finder yields where each secret begins and ends, and the text to show instead. As in `secret_pairs`, patterns are
possessive, or begin behind a character that they cannot match. So the time is linear for every text.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from holdfastd.web.queue.secret_pairs import HIDDEN, NAMES, VALUES, Hidden, is_ordinary

Hides = Callable[[str], bool]

_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?+-----(.*?)(?:(?=-----END)|\Z)", re.DOTALL)

# Keys with the prefixes of their services: GitHub, GitLab, Slack, Stripe, OpenAI, Anthropic, AWS, Google, npm, PyPI,
# Hugging Face, DigitalOcean, SendGrid, Standard Webhooks, age, Telegram; and JSON Web Tokens.
_KEY = re.compile(
    r"(?<![\w-])(?:(?:gh[oprsu]_|github_pat_|gl(?:pat|rt|dt|ft|ptt|cbt|soat)-|xox[a-z]-|xapp-|(?:sk|rk|pk)_(?:live|test)_|sk-|npm_|pypi-"
    r"|hf_|do[opr]_v1_|whsec_|AIza|shp[a-z]{2}_|lin_api_|dapi|AGE-SECRET-KEY-1)[\w-]{16,}+"
    r"|(?:ya29|SG)\.[\w-]{16,}+(?:\.[\w-]++)*+"
    r"|eyJ[\w-]{8,}+\.[\w-]{4,}+(?:\.[\w-]*+)*+"
    r"|\d{8,10}:AA[\w-]{32,}+)"
    r"|(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"
)
_HOOK = re.compile(r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]++|(?<=/api/webhooks/)\d++/[\w-]++")
_COOKIE = re.compile(r"(?<=<Cookie )[^\s<>]++(?= for )|(?<=<Morsel: )[^<>]++")
_SCHEME = re.compile(
    r"(?<![\w-])(?P<scheme>bearer|basic|token|apikey|negotiate)[ \t]++(?=(?P<value>[\w.~+/=-]++))", re.IGNORECASE
)
LONG_KEY = 20  # least length of a text behind a scheme that counts as a key, not as a word
LONG_PART = 8  # least length of a part of a key that is checked for looking random
SHORT_KEY = 6  # least length of a key with letters and digits

_LOGIN = re.compile(r"""((?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+)?+://([^\s/?#"'`<>\\]*+)""")
_ODD_LOGIN = re.compile(r"""[^\s"'`<>@\\]{0,256}@""")  # behind a password with a slash
_PORT = re.compile(r"[0-9]*+")
_DRIVER_LOGIN = re.compile(  # of Go's MySQL driver, and of Oracle
    r"""(?:(?<![^\s"'`])[^\s"'`:@]*+:([^\s"'`@]++)@(?:tcp|unix)\(|(?<=jdbc:oracle:)[a-z0-9]{1,9}:[\w$#.-]{0,128}/([^\s"'`@]{1,256})@)"""
)

_FLAG = re.compile(  # of a command line
    r"""(?<![\w.-])(?P<name>--?[A-Za-z][\w.-]++)[ \t]++(?P<value>"[^"]*+"?+|'[^']*+'?+|[^\s-]\S*+)"""
)
_COMMAND = re.compile(
    r"""(?<![\w.-])(?P<program>sshpass|mysql\w*+|mariadb\w*+|redis-cli|curl|ldap\w++"""
    r"""|(?:docker|podman|registry)[ \t]++login)[ \t][^\r\n|;&]*+""",
    re.IGNORECASE,
)
_QUOTABLE = r"""(?P<value>"[^"]*+"?+|'[^']*+'?+|[^\s"']++)"""
_SHORT_FLAGS = (  # short flags of these programs whose value is a secret
    (("sshpass", "docker", "podman", "registry"), re.compile(rf"(?<=\s)-p(?:\s++|=)?+{_QUOTABLE}")),
    (("mysql", "mariadb"), re.compile(rf"(?<=\s)-p{_QUOTABLE}")),
    (("redis-cli",), re.compile(rf"(?<=\s)-a\s*+{_QUOTABLE}")),
    (("ldap",), re.compile(rf"(?<=\s)-w\s*+{_QUOTABLE}")),
    (("curl",), re.compile(rf"(?<=\s)(?:-[uU]|--(?:proxy-)?user)(?:\s++|=)?+{_QUOTABLE}")),
    (("curl",), re.compile(rf"(?<=\s)(?:-b|--cookie)(?:\s++|=)?+{_QUOTABLE}")),
)
_WORDED = re.compile(  # a name and a value with a space between, behind a keyword
    r"""(?:(?m:^)[ \t]*+(?:ENV|ARG|setenv|set)[ \t]++(?:-\w++[ \t]++)*+(?P<name>[\w.-]++)[ \t]++"""
    r"""|\b(?:requirepass|masterauth)[ \t]++|\b(?:machine[ \t]++\S++\s++|default\s++)login\s++\S++\s++password[ \t]++"""
    r"""|(?m:^)[ \t]*+login[ \t]++\S++[ \t]*+\r?\n[ \t]*+password[ \t]++"""
    r"""|\bidentified[ \t]++by[ \t]++(?:password[ \t]++)?+)(?P<value>"[^"\r\n]*+"?+|'[^'\r\n]*+'?+|[^\s"';=-]\S*+)""",
    re.IGNORECASE,
)

_TAG = re.compile(
    r"""<(?P<end>/?)(?:[\w.-]++:)?+(?P<name>[\w.-]++)(?P<more>(?:[\s/](?:(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+|[^<>]*+))?)>"""
)
_ATTRIBUTE_NAME = re.compile(r"""\s(?:name|key|id)\s*+=\s*+["']([^"'<>]*+)""", re.IGNORECASE)

_BREAK = r"(?:\r?\n|\\{1,8}r\\{1,8}n|\\{1,8}n)"
_PART = re.compile(
    rf"content-disposition:(?P<head>(?:(?!{_BREAK}{_BREAK}|content-disposition:)[^\0])*+){_BREAK}{_BREAK}"
    rf"(?P<value>(?:(?!{_BREAK}--)[^\0])*+)",
    re.IGNORECASE,
)
_PART_NAME = re.compile(r"""[;\s]name\*?=\\*+"?+([^";\\\r\n]++)""", re.IGNORECASE)


def private_keys(text: str, hides: Hides) -> Iterator[Hidden]:
    if "PRIVATE KEY" in text and hides("private_key"):
        yield from ((*match.span(1), HIDDEN) for match in _PRIVATE_KEY.finditer(text))


def keys(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds keys of services, which are known by their prefixes."""
    if hides("token"):
        yield from ((*match.span(), HIDDEN) for match in _KEY.finditer(text) if _is_random(match[0]))


def hooks(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds the paths of webhook URLs of chat services. Anybody who knows such a path can post."""
    if hides("token"):
        yield from ((*match.span(), HIDDEN) for match in _HOOK.finditer(text))


def _is_random(key: str) -> bool:
    """True if a candidate looks random. `sk-learn-contributors` and `npm_config_registry` do not: their parts are
    words."""
    parts = (part for part in re.split(r"[-_./:]", key) if len(part) >= LONG_PART)
    return any(not part.isalpha() or part not in (part.lower(), part.title(), part.upper()) for part in parts)


def cookies(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds cookies in the form in which Python prints a client's cookie jar."""
    if hides("cookie"):
        yield from ((*match.span(), HIDDEN) for match in _COOKIE.finditer(text))


def schemes(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds the text behind an HTTP authentication scheme such as `Bearer`, if this text looks like a key or a
    login."""
    if hides("authorization"):
        for match in _SCHEME.finditer(text):
            if _is_credential(match["scheme"].lower(), match["value"]):
                yield (*match.span("value"), HIDDEN)


def _is_credential(scheme: str, word: str) -> bool:
    """True if the word behind a scheme looks like a key or a login. `Basic knowledge`, `the bearer of news` and `token
    expired` do not."""
    word = word.rstrip(".-/")
    has_digit = any(map(str.isdigit, word))
    has_both = has_digit and any(map(str.isalpha, word))
    if len(word) >= LONG_KEY and (has_digit or not word.islower()):
        return True
    if scheme == "basic":
        return _is_login(word)
    is_odd = has_both or (scheme == "bearer" and word[1:] != word[1:].lower()) or word.endswith("=")
    return len(word) >= SHORT_KEY and is_odd


def _is_login(word: str) -> bool:
    """True for the base64 of a user and a password."""
    try:
        return ":" in base64.b64decode(word + "=" * (-len(word) % 4), validate=True).decode()
    except (ValueError, binascii.Error):
        return False


def logins(text: str, hides: Hides) -> Iterator[Hidden]:
    """Passwords in URLs; no pattern can switch this off. In http and https URLs the user is hidden, too, because the
    user may be a token."""
    last = 0
    for match in _LOGIN.finditer(text):
        start, end = match.span(2)
        login, mark, _ = match[2].rpartition("@")
        if not mark and (odd := _odd_login(text, match[2], end)):
            login = text[start:odd]
        if login and start >= last:
            user, colon, _ = login.partition(":")
            is_web = (match[1] or "").lower() in ("http", "https")
            last = start + len(login)
            if colon or is_web:
                yield start, last, HIDDEN if is_web else f"{user}:{HIDDEN}"


def driver_logins(text: str, hides: Hides) -> Iterator[Hidden]:
    yield from ((*match.span(match.lastindex or 0), HIDDEN) for match in _DRIVER_LOGIN.finditer(text))


def _odd_login(text: str, authority: str, end: int) -> int | None:
    """The end of a login whose password has an unescaped `/` or the like; None for other URLs. Such a URL seems to have
    a port that is not a number."""
    _, colon, port = authority.rpartition(":")
    if not colon or _PORT.fullmatch(port) or authority.endswith("]"):
        return None
    odd = _ODD_LOGIN.match(text, end)
    return odd.end() - 1 if odd else None


def flags(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds the values of long flags that have the name of a secret: `--password x`."""
    for match in _FLAG.finditer(text):
        if hides(match["name"]) and not is_ordinary(match["name"], match["value"]):
            yield (*match.span("value"), HIDDEN)


def commands(text: str, hides: Hides) -> Iterator[Hidden]:
    if not hides("password"):
        return
    for command in _COMMAND.finditer(text):
        program = command["program"].lower()
        for programs, flag in _SHORT_FLAGS:
            if program.startswith(programs):
                found = flag.finditer(text, *command.span())
                yield from ((*each.span("value"), HIDDEN) for each in found)


def worded(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds secrets behind a word: `ENV NAME value`, `requirepass x`, `login u password x`, `IDENTIFIED BY 'x'`."""
    for match in _WORDED.finditer(text):
        if hides(match["name"] or "password") and not is_ordinary(match["name"] or "", match["value"]):
            yield (*match.span("value"), HIDDEN)


def elements(text: str, hides: Hides) -> Iterator[Hidden]:
    """The content of XML elements whose name, or whose attribute `name`, is the name of a secret. The content ends at
    the end tag, or at the next tag if there is no end tag. `<name>password</name>` hides the value element beside
    it."""
    tags = list(_TAG.finditer(text)) if "<" in text else []
    last_ends = {tag["name"].lower(): number for number, tag in enumerate(tags) if tag["end"]}
    number, is_named = 0, False
    while number < len(tags):
        tag, number = tags[number], number + 1
        name, start = tag["name"].lower(), tag.end()
        if tag["end"] or tag["more"].endswith("/"):
            continue
        if name in NAMES:
            is_named = hides(text[start : _next(text, start)].strip())
        attribute = _ATTRIBUTE_NAME.search(tag["more"])
        is_value = is_named and name in VALUES
        if is_value or hides(tag["name"]) or (attribute and hides(attribute[1])):
            end = _next(text, start)
            if last_ends.get(name, 0) >= number:
                number, end = _end_tag(tags, number, name)
            if end > start and not is_ordinary(tag["name"], text[start:end]):
                yield start, end, HIDDEN


def _end_tag(tags: list[re.Match[str]], number: int, name: str) -> tuple[int, int]:
    """The number of the tag behind the end tag of an element, and the position where the content ends. Inner elements
    of the same name have their own end tags. If an end tag is missing, the last one counts."""
    depth, last = 1, (number, 0)
    while depth and number < len(tags):
        tag, number = tags[number], number + 1
        if tag["name"].lower() == name and not tag["more"].endswith("/"):
            depth += -1 if tag["end"] else 1
            last = (number, tag.start()) if tag["end"] else last
    return last


def _next(text: str, start: int) -> int:
    """The position of the next tag; the end of the text if there is none."""
    found = text.find("<", start)
    return len(text) if found < 0 else found


def parts(text: str, hides: Hides) -> Iterator[Hidden]:
    """Finds the values of secret fields in a multipart form."""
    for match in _PART.finditer(text):
        name = _PART_NAME.search(match["head"])
        if name and hides(name[1]) and match["value"]:
            yield (*match.span("value"), HIDDEN)
