"""What a code means, on a page of its own that reads without JavaScript."""

import json

from flask.testing import FlaskClient
from markupsafe import Markup

from compiler.codes import CODES


def test_every_code_has_a_page_that_needs_no_javascript(client: FlaskClient) -> None:
    listed = client.get("/explain/").text
    for code in CODES.values():
        assert f'href="/explain/{code.id}"' in listed
        shown = client.get(f"/explain/{code.id.lower()}")
        assert shown.status_code == 200
        assert "<script" not in shown.text.partition("<body>")[2]
        words = Markup(shown.text.partition("<main")[2]).striptags()
        assert code.text.replace("`", "") in words
        assert ("Open it as a program" in words) == bool(code.wrong)


def test_an_unknown_code_is_not_there(client: FlaskClient) -> None:
    for path in ("/explain/X999", "/explain/%3Cb%3E", "/explain/X999/wrong", "/explain/S007/wrong"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "<b>" not in answer.text


def test_the_wrong_program_is_carried_by_the_page(client: FlaskClient) -> None:
    text = client.get("/explain/F001/wrong").text
    carried = text.partition('data-program="')[2].partition('"')[0]
    program = json.loads(carried.replace("&#34;", '"'))
    assert program == {"source": CODES["F001"].wrong, "files": dict(CODES["F001"].files)}
