"""The proxies' configurations in docs/server.md, in front of a real server, where they are."""

import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.clients import TOKEN_HEADER
from testing.ports import free_port
from tests.app.conftest import SOURCE
from tests.app.serving import PATIENCE, await_port, servers

DOCS = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
NAME = "explorer.example.org"
HERE, THERE = "127.0.0.2", "127.0.0.3"

Ask = Callable[..., tuple[int, Any]]


def documented(kind: str) -> str:
    """The block of that kind in the documentation."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", DOCS, re.DOTALL)
    return str(found)


def changed(text: str, **replaced: str) -> str:
    """The text with patterns replaced, each of which must be in it."""
    for pattern, new in replaced.items():
        assert re.search(pattern, text), pattern
        text = re.sub(pattern, new, text)
    return text


def nginx(folder: Path, port: int, server: int) -> list[str]:
    """The command for nginx with the documented configuration, but without https."""
    config = changed(
        documented("nginx"),
        **{
            "listen 443 ssl;": f"listen 127.0.0.1:{port};",
            r"ssl_certificate.*\n": "",
            "127.0.0.1:8000": f"127.0.0.1:{server}",
        },
    )
    temporary = "\n".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    around = (
        f"daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary}\n{config}}}\n"
    )
    (folder / "nginx.conf").write_text(around)
    folder.chmod(0o777)
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, port: int, server: int) -> list[str]:
    """The command for Caddy with the documented configuration, but without https."""
    config = changed(
        documented("caddy"),
        **{
            r"\A\{": "{\n\tadmin off",
            rf"(?m)^{NAME} \{{": f"http://:{port} {{\n\tbind 127.0.0.1",
            "127.0.0.1:8000": f"127.0.0.1:{server}",
        },
    )
    (folder / "Caddyfile").write_text(config)
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@contextmanager
def in_front(command: list[str], port: int) -> Iterator[Ask]:
    """Run a proxy; asks it for something, from one of this machine's addresses."""
    proxy = subprocess.Popen(command, stderr=subprocess.PIPE)

    def ask(path: str, body: Any = None, source: str = HERE, **headers: str) -> tuple[int, Any]:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        client = http.client.HTTPConnection("127.0.0.1", port, PATIENCE, (source, 0))
        given = {"Host": NAME, "Content-Type": "application/json", **named}
        client.request("GET" if body is None else "POST", path, json.dumps(body), given)
        answer = client.getresponse()
        return answer.status, answer.read()

    try:
        await_port(port, proxy)
        yield ask
    finally:
        proxy.terminate()
        proxy.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module", params=[nginx, caddy], ids=["nginx", "caddy"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Asks a server through a proxy; each address may ask for two checks an hour."""
    command: Callable[[Path, int, int], list[str]] = request.param
    if shutil.which(command.__name__) is None:
        pytest.skip(f"there is no {command.__name__} on this machine")
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    settings = {"HOSTS": NAME, "PROXIES": 1, "LIMIT_CHECK": "2 per hour", "ADDRESS_PAGES": 1}
    with servers(tmp_path_factory.mktemp("data"), **settings) as serve:
        arguments = command(folder, port, serve())
        with in_front(arguments, port) as asking:
            yield asking


def test_pages_and_programs_go_through(ask: Ask) -> None:
    assert ask("/")[0] == 200
    origin = f"http://{NAME}"
    status, answer = ask("/api/run", {"source": SOURCE, "input": "[1i64]"}, Origin=origin)
    assert status == 200
    assert json.loads(answer)["ok"]


def test_stages_arrive_as_events(ask: Ask) -> None:
    status, answer = ask("/api/show", {"source": SOURCE}, Accept="text/event-stream")
    assert status == 200
    assert b"event: part\n" in answer
    assert b"event: done\n" in answer


def test_other_names_and_other_sites_are_refused(ask: Ask) -> None:
    assert ask("/", Host="evil.example")[0] == 421
    for origin in ("http://evil.example", f"http://{NAME}:81", "null"):
        assert ask("/api/run", {"source": SOURCE}, Origin=origin)[0] == 403


def test_what_is_for_this_machine_is_not_read_through_a_proxy(ask: Ask) -> None:
    for path in ("/metrics", "/health"):
        for headers in ({}, {"Host": "localhost"}, {"X_Forwarded_For": "127.0.0.1"}):
            status, answer = ask(path, **headers)
            assert status == 404 or json.loads(answer) == {"ok": True}, path


def test_addresses_come_from_the_proxy_and_not_from_the_client(ask: Ask) -> None:
    def check(source: str, **headers: str) -> int:
        return ask("/api/check", {"source": SOURCE}, source, **headers)[0]

    assert [check(HERE) for _ in range(3)] == [200, 200, 429]
    assert check(HERE, X_Forwarded_For="192.0.2.7") == 429
    assert check(HERE, Forwarded="for=192.0.2.7", X_Real_IP="192.0.2.7") == 429
    assert check(HERE, **{TOKEN_HEADER: "0123456789abcdef"}) == 429
    assert check(THERE) == 200


def test_the_server_is_told_of_https(ask: Ask) -> None:
    """The links that it makes say so, by what the proxy says and not the client."""
    status, answer = ask("/api/share", {"source": SOURCE}, X_Forwarded_Proto="https")
    assert status == 200
    assert json.loads(answer)["url"].startswith(f"http://{NAME}/z/")
