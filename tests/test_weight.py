"""What `make check` says about the weight of rooms: each has a ceiling, and none is above it."""

from __future__ import annotations

import pytest

from tools import weight

SOURCES = {
    "src/moot/log.py": '"""What it is for."""\nx = 1; y = 2; z = 3\n',
    "src/moot/packs/desk/verbs/show.py": "def show():\n    '''Shows.'''\n    return (\n        1\n    )\n",
    "tests/core/test_x.py": "assert True  # a comment\n",
}


@pytest.fixture
def rooms():
    return weight.weighed(SOURCES)[0]


def test_statements_are_counted_per_room_without_docstrings_and_line_breaks(rooms):
    assert rooms == {"src": {"(top)": 3, "packs/desk": 2}, "tests": {"core": 1}}


def test_a_room_above_its_ceiling_without_one_or_gone_is_named(rooms):
    found = weight.offences(rooms, {"src": {"(top)": 1, "packs/desk": 2, "old": 9}, "tests": {}})
    assert [[name for name in ("(top)", "packs/desk", "old", "core") if name in line] for line in found] == [
        ["(top)"],
        ["old"],
        ["core"],
    ]


def test_a_ceiling_falls_to_what_its_room_weighs_and_never_rises(rooms, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(weight, "CEILINGS", tmp_path / "weights.toml")
    weight.lower(rooms, {"src": {"(top)": 1, "packs/desk": 5, "old": 9}, "tests": {}})
    ceilings = weight.read_ceilings()
    assert ceilings == {"src": {"(top)": 1, "packs/desk": 2}, "tests": {"core": 1}}
    weight.table(rooms, {}, ceilings, None)
    assert capsys.readouterr().out.splitlines()[0].split() == ["3", "of", "1", "src", "(top)"]
