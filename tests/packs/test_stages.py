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
task = "Name the headings."
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
    assert (outline.task, outline.agent) == ("Name the headings.", "optional")
    assert pack.pipeline.shared == ("/errors",)


RESERVED = (".git/hooks/{stem}", ".Git/", "{folder}/.git/x", "moot.toml", ".moot/x", "../{stem}", "/tmp/{stem}")
WRONG = [
    # what is replaced in a sound pack, and the key of the problem
    ('"/review", "/errors"', '"/outline/title", "/errors"', "stage[1].owns[0]"),
    ('"/review", "/errors"', '"/done"', "stage[1].owns[0]"),
    ('"/done/outline_version" =', '"outline_version" =', "stage[0].sets.outline_version"),
    ('writes = ["report"]', 'writes = ["repot"]', "stage[1].writes[0]"),
    ('writes = ["report"]', 'writes = ["document"]', "stage[1].writes[0]"),
    ('timeout = "2m"', 'timeout = "soon"', "stage[0].timeout"),
    ('timeout = "2m"', "speed = 3", "stage[0].speed"),
    ('"review_all"', '"outline"', "stage[1].name"),
    ('document = "note"', 'document = "other"', "pipeline.document"),
    ("{name}.json", "name.json", "pipeline.document"),
    ("[[stage]]", "[[roles]]", "roles"),
    *(('"reports/{stem}.md"', f'"{path}"', "pipeline.files.report") for path in RESERVED),
]


def test_each_problem_of_a_stage_is_named_by_its_key():
    wrong = []
    for old, new, key in WRONG:
        found = [at for _, at, _ in problems(SOUND.replace(old, new))]
        wrong += [(old, new, found)] if found != [key] else []
    assert wrong == []


def test_a_pipeline_needs_stages_and_keys_of_a_document_need_one():
    assert [key for _, key, _ in problems(f'{HEAD}[pipeline]\nerrors = "/e"\n')] == ["pipeline"]
    assert [key for _, key, _ in problems(f'{HEAD}[[stage]]\nname = "a"\nmarker = "/x"\n')] == ["stage[0].marker"]
