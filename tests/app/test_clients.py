"""Who asks: addresses, tokens of pages, and what counts as this machine."""

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from app.clients import TOKEN_HEADER, address_key, client_key, host_name, is_local, page_key

TOKEN = "0123456789abcdef"


def asked(address: str = "127.0.0.1", host: str = "localhost", **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    builder = EnvironBuilder(headers={"Host": host, **named}, environ_base={"REMOTE_ADDR": address})
    return Request(builder.get_environ())


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("", "-"),
        ("unix:", "-"),
    ],
)
def test_an_address_counts_as_its_network(address: str, key: str) -> None:
    assert address_key(asked(address)) == key
    assert client_key(asked(address)) == key


def test_tokens_tell_the_people_behind_one_address_apart() -> None:
    one = client_key(asked("192.0.2.7", **{TOKEN_HEADER: TOKEN}))
    other = client_key(asked("192.0.2.7", **{TOKEN_HEADER: TOKEN[::-1]}))
    elsewhere = client_key(asked("192.0.2.8", **{TOKEN_HEADER: TOKEN}))
    assert len({one, other, elsewhere}) == 3


def test_who_sends_no_token_is_told_apart_by_the_connection() -> None:
    keys = []
    for port in ("4001", "4002"):
        request = asked("192.0.2.7")
        request.environ["REMOTE_PORT"] = port
        keys.append(client_key(request))
        assert page_key(request) == address_key(request) == "192.0.2.7"
        with_token = asked("192.0.2.7", **{TOKEN_HEADER: TOKEN})
        with_token.environ["REMOTE_PORT"] = port
        assert client_key(with_token) == page_key(with_token)
    assert len(set(keys)) == 2
    assert {key.partition(" ")[0] for key in keys} == {"192.0.2.7"}


@pytest.mark.parametrize("token", ["", "short", "a" * 65, "0123456789abcdef ", "0123456789abcd é"])
def test_what_is_no_token_is_left_out(token: str) -> None:
    assert client_key(asked("192.0.2.7", **{TOKEN_HEADER: token})) == "192.0.2.7"


@pytest.mark.parametrize(
    ("address", "host", "headers", "local"),
    [
        ("127.0.0.1", "localhost:8000", {}, True),
        ("127.0.0.1", "LOCALHOST.:8000", {}, True),
        ("::1", "[::1]:8000", {}, True),
        ("::ffff:127.0.0.1", "127.0.0.1", {}, True),
        ("192.0.2.7", "localhost", {}, False),
        ("127.0.0.1", "explorer.example.org", {}, False),
        ("127.0.0.1", "localhost", {"X_Forwarded_For": "192.0.2.7"}, False),
        ("127.0.0.1", "localhost", {"Forwarded": "for=192.0.2.7"}, False),
        ("", "localhost", {}, False),
    ],
)
def test_this_machine(address: str, host: str, headers: dict[str, str], local: bool) -> None:
    assert is_local(asked(address, host, **headers)) is local


def test_a_host_is_named_without_its_port() -> None:
    assert host_name(asked(host="[::1]:80")) == "[::1]"
    assert host_name(asked(host="Example.ORG:443")) == "example.org"
