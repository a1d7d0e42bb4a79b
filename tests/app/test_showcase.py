"""The gallery of examples: a sentence and a picture for each, where to start first."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.gallery import load
from app.showcase import START, groups
from tests.app.conftest import MakeApp

FOLDER = Path(__file__).parents[2] / "app" / "examples"


def test_all_examples_are_in_one_group_and_the_front_one_is_first() -> None:
    all_of_them = load(FOLDER)
    found = groups(all_of_them, "concatenation")
    assert found[0][0] == START
    assert found[0][1][0].name == "concatenation"
    assert sorted(one.name for _, members in found for one in members) == sorted(
        one.name for one in all_of_them
    )
    assert all(one.point for one in all_of_them)


def test_each_has_its_sentence_and_a_picture(client: FlaskClient) -> None:
    page = client.get("/examples/").get_data(as_text=True)
    for one in load(FOLDER):
        assert f'href="/examples/{one.name}"' in page
        assert f'src="/examples/{one.name}/picture.png"' in page
    picture = client.get("/examples/concatenation/picture.png")
    assert picture.mimetype == "image/png"
    assert picture.data.startswith(b"\x89PNG")
    assert client.get("/examples/nothing/picture.png").status_code == 404


@pytest.mark.parametrize("source", ["entry main = WRONG", "entry main = 1"])
def test_a_program_without_memory_has_an_empty_picture(
    make_app: MakeApp, tmp_path: Path, source: str
) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "one.fut").write_text(f"-- One\n-- A point.\n-- order: 1\n\n{source}\n")
    client = make_app(EXAMPLES=folder).test_client()
    assert client.get("/examples/one/picture.png").data.startswith(b"\x89PNG")
