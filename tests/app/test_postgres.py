"""Links in PostgreSQL: stored, found again, rendered once, bounded; an earlier table is kept."""

import itertools
import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect, text

from app import archive
from app.database import Database
from testing.ports import free_port
from tests.app.conftest import SOURCE, MakeApp

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), *map(str, FOLDERS)])
PROGRAMS = {name: shutil.which(name, path=SEARCHED) for name in ("initdb", "postgres")}

pytestmark = pytest.mark.skipif(
    not all(PROGRAMS.values()), reason="there is no PostgreSQL on this machine"
)


def ordinary_user() -> dict[str, int]:
    """PostgreSQL does not run as root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A PostgreSQL server of its own; the URL of its only database."""
    user = ordinary_user()
    with tempfile.TemporaryDirectory() as folder:
        if user:
            os.chown(folder, user["user"], user["group"])
        made = [str(PROGRAMS["initdb"]), "-D", f"{folder}/data", "-U", "links", "-A", "trust", "-N"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)
        port = free_port()
        command = [str(PROGRAMS["postgres"]), "-D", f"{folder}/data", "-p", str(port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-k", folder, "-F"]
        ready = threading.Event()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, **user)

        def listen() -> None:
            for line in process.stderr or ():
                if "ready to accept connections" in line:
                    ready.set()

        threading.Thread(target=listen, daemon=True).start()
        try:
            assert ready.wait(60), "PostgreSQL does not start"
            yield f"postgresql+psycopg://links@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)  # does not wait for connections
            process.wait(60)


@pytest.fixture
def url(server: str) -> Iterator[str]:
    """The database without tables."""
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    yield server
    engine.dispose()


def test_links_are_stored_once_and_read_by_another_server(make_app: MakeApp, url: str) -> None:
    app = make_app(DATABASE_URL=url)
    run = {"input": "[1i64]", "backend": "c"}
    body = {"source": SOURCE, "run": run}
    name = app.test_client().post("/api/share", json=body).get_json()["id"]
    other = make_app(DATABASE_URL=url).test_client()
    assert other.post("/api/share", json=body).get_json()["id"] == name
    assert other.get(f"/z/{name}.json").get_json()["source"] == SOURCE
    first, again = app.test_client().get(f"/z/{name}"), other.get(f"/z/{name}")
    assert first.data == again.data
    tag = first.headers["ETag"]
    assert other.get(f"/z/{name}", headers={"If-None-Match": tag}).status_code == 304
    assert other.get("/z/nothing234").status_code == 404
    assert other.get("/z/%00").status_code == 404


def test_an_earlier_table_is_kept_and_the_missing_one_made(make_app: MakeApp, url: str) -> None:
    name = make_app(DATABASE_URL=url).test_client().post("/api/share", json={"source": SOURCE})
    engine, links = create_engine(url), {"permalinks", "holders", "salts"}
    assert set(inspect(engine).get_table_names()) == links
    client = make_app(DATABASE_URL=url).test_client()
    assert client.post("/api/lecture", json={}).status_code == 200
    assert client.get(f"/z/{name.get_json()['id']}").status_code == 200
    assert set(inspect(engine).get_table_names()) == links | {"lectures"}
    engine.dispose()


def test_two_servers_that_make_the_tables_at_once(make_app: MakeApp, url: str) -> None:
    apps = [make_app(DATABASE_URL=url) for _ in range(4)]
    start = threading.Barrier(len(apps))
    found: list[int] = []

    def share(number: int) -> None:
        start.wait()
        body = {"source": f"{SOURCE}-- {number}"}
        answer = apps[number].test_client().post("/api/share", json=body)
        found.append(answer.status_code)

    threads = [threading.Thread(target=share, args=(number,)) for number in range(len(apps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * len(apps)


def test_links_are_listed_moved_and_deleted(make_app: MakeApp, url: str) -> None:
    app = make_app(DATABASE_URL=url, PAGE_MB=1)
    made = app.test_client().post("/api/share", json={"source": SOURCE}).get_json()
    database = Database(lambda: url)
    assert [one.name for one in archive.listed(database)] == [made["id"]]
    lines = [json.dumps(told) for _, told in archive.exported(database, [])]
    body = {"id": made["id"], "key": made["key"]}
    assert app.test_client().post("/api/forget", json=body).get_json()["gone"]
    assert not archive.listed(database)
    assert archive.imported(database, lines) == (1, 0)
    assert archive.imported(database, lines) == (0, 1)
    assert app.test_client().get(f"/z/{made['id']}.json").get_json()["source"] == SOURCE
    assert archive.deleted(database, [made["id"], "nothing"]) == [made["id"]]


def test_all_links_together_have_a_bound(make_app: MakeApp, url: str) -> None:
    app = make_app(DATABASE_URL=url, LINKS_MB=1)
    client = app.test_client()

    def share(number: int) -> Any:
        body = {"source": f"-- {number} {random.Random(number).randbytes(30_000).hex()}"}
        return client.post("/api/share", json=body)

    answers = list(itertools.takewhile(lambda a: a.status_code == 200, map(share, range(60))))
    assert 3 <= len(answers) < 60
    refused = share(100)
    assert refused.status_code == 507
    assert "the 1 MB that this server keeps" in refused.get_json()["error"]["hint"]
    first = answers[0].get_json()
    assert client.get(f"/z/{first['id']}.json").status_code == 200
    other = client.post("/api/share", json={"source": SOURCE}).status_code
    assert other in (200, 507), "what is small may still fit"
    for one in (answer.get_json() for answer in answers[:2]):  # one may be smaller than the next
        body = {"id": one["id"], "key": one["key"]}
        assert client.post("/api/forget", json=body).get_json()["gone"]
    assert share(101).status_code == 200, "there is room again"
