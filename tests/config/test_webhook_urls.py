"""The URL of a webhook names one server in one way, and its target is what is sent."""

from __future__ import annotations

import pytest

from holdfast_config import addresses
from holdfast_config.addresses import WebhookUrl

GOOD = [
    ("https://example.org", WebhookUrl("https", "example.org", None, "/"), "example.org"),
    ("http://Example.ORG:8080/a/b?c=d", WebhookUrl("http", "example.org", 8080, "/a/b?c=d"), "example.org:8080"),
    ("https://example.org?c=d", WebhookUrl("https", "example.org", None, "/?c=d"), "example.org"),
    ("http://[::1]:8080/", WebhookUrl("http", "::1", 8080, "/"), "[::1]:8080"),
    ("http://127.0.0.1/", WebhookUrl("http", "127.0.0.1", None, "/"), "127.0.0.1"),
    ("http://my_host.local./x", WebhookUrl("http", "my_host.local.", None, "/x"), "my_host.local."),
    (
        "https://münchen.example/ä?ü=%20",
        WebhookUrl("https", "xn--mnchen-3ya.example", None, "/%C3%A4?%C3%BC=%20"),
        "xn--mnchen-3ya.example",
    ),
    ("https://h/user@place;x=1,2:3", WebhookUrl("https", "h", None, "/user@place;x=1,2:3"), "h"),
]


@pytest.mark.parametrize(("text", "url", "authority"), GOOD)
def test_a_url_is_taken_apart(text: str, url: WebhookUrl, authority: str) -> None:
    parsed = addresses.parse_webhook(text)
    assert (parsed, parsed.authority) == (url, authority)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org/hook",
        "ftp://example.org/",
        "http:///hook",
        "http:hook",
        "https://me:s3cret@example.org/",
        "https://me@example.org/",
        "https://example.org/#part",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://example.org:x/",
        "https://a..b/",
        "https://-a.example/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 130}example/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://h\\evil.example/",
        "http://h/a b",
        "http://h/a\nb",
        "http://h/a\x01b",
        "http://h/\udc80",
        f"http://h/{'a' * 2001}",
        *("http://0177.0.0.1/", "http://0x7f.1/", "http://127.1/", "http://2130706433/", "http://256.0.0.1/"),
    ],
)
def test_anything_else_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError) as refused:
        addresses.parse_webhook(text)
    assert str(refused.value) == addresses.WEBHOOK_RULE
