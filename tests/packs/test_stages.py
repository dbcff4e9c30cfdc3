"""The stages of a pack as data: what is loaded, and what is refused, each problem with its line."""

from __future__ import annotations

import pytest

from moot.api.protocol.checking import parse
from moot.api.protocol.loading import pack_of
from moot.core.errors import Usage

HEAD = 'name = "notes"\ntitle = "Notes"\n'
MIRROR = '[mirrors.note]\npath = "notes/{name}.json"\nform = "document"\n'
SOUND = f"""{HEAD}
[pipeline]
document = "note"
errors = "/errors"

[pipeline.files]
report = "reports/{{stem}}.md"

[[stage]]
name = "outline"
reads = ["source"]
owns = ["/outline", "/errors"]
marker = "/done/outline"
sets = {{ "/done/outline_version" = "1.0" }}
timeout = "2m"

[[stage]]
name = "review_all"
agent = "required"
reads = ["source", "document", "answer"]
writes = ["report"]
owns = ["/review", "/errors"]
criteria = ["complete"]
{MIRROR}"""


def loaded(text):
    from moot.mirrors.forms import forms

    found = parse("the pack", lambda _name: text.encode(), forms=forms(None))
    return pack_of(found.data, found.schemas)


def problems(text):
    with pytest.raises(Usage) as caught:
        loaded(text)
    return [(one["line"], one["key"], one["text"]) for one in caught.value.details["problems"]]


def test_stages_are_loaded_in_the_order_of_the_file_each_after_the_one_above():
    pack = loaded(SOUND)
    outline, review = pack.stages
    assert (outline.name, outline.after, outline.timeout) == ("outline", "", 120.0)
    assert (review.after, review.agent, review.label) == ("outline", "required", "review-all")
    assert pack.pipeline.shared == ("/errors",)


def test_two_stages_cannot_own_one_key_but_share_the_lists_of_errors():
    found = problems(SOUND.replace('"/review", "/errors"', '"/outline/title", "/errors"'))
    assert [text for _, _, text in found] == ["/outline/title already belongs to the stage outline"]
    assert found[0][0] == SOUND.split("\n").index('owns = ["/review", "/errors"]') + 1


def test_a_marker_that_another_stage_owns_is_refused():
    found = problems(SOUND.replace('owns = ["/review", "/errors"]', 'owns = ["/done"]'))
    assert any("already belongs to the stage outline" in text for _, _, text in found)


def test_all_problems_are_reported_at_once_with_key_and_line():
    text = (
        HEAD
        + '[[stage]]\nname = "a"\nmarker = "/x"\nreads = ["answer"]\ntimeout = "soon"\n'
        + '[[stage]]\nname = "a"\nafter = "b"\nwrites = ["document"]\nspeed = 3\n'
    )
    found = problems(text)
    assert [line for line, _, _ in found] == [5, 6, 7, 9, 10, 11, 12]
    said = " ".join(text for _, _, text in found)
    for part in (
        "names none",
        "no answer before it",
        "expected a time",
        "two stages 'a'",
        "expected 'a'",
        "files only",
    ):
        assert part in said, said
    assert "there is no key stage[1].speed" in said or "speed" in said


def test_a_pipeline_without_stages_or_with_an_unknown_mirror_is_refused():
    assert problems(f'{HEAD}[pipeline]\nerrors = "/e"\n')[0][2] == "the pack has [pipeline], but no [[stage]]"
    text = f'{HEAD}[pipeline]\ndocument = "other"\n[[stage]]\nname = "a"\n{MIRROR}'
    assert problems(text)[0][2] == "there is no mirror 'other'; known: note"


def test_an_unknown_role_of_files_is_refused_where_roles_are_declared():
    found = problems(SOUND.replace('writes = ["report"]', 'writes = ["repot"]'))
    assert found[0][2] == "there is no role 'repot'; known: report, source"
