"""A role's brief is a text of its pack, with the facts taken from the pack's data."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from moot import Workspace
from moot.api.protocol.briefs import LARGEST, render
from moot.core.errors import Unavailable, Unknown, Usage
from moot.core.schema import defects as defects_of
from moot.core.schema import sheet
from tests.kit.packs import defects, load
from tests.packs.conftest import DESK, WITHOUT
from tests.packs.test_desk import command

BRIEF = """\
# {{title}} of {{pack}}

{{does}} States: {{states}}

{{fields question}}

{{sample question}}

A single {brace} and {"json": {}} stay. {{file board}}
"""


def with_brief(folder: Path, content: str | bytes, file: str = "clerk.md") -> Path:
    """The help desk in a folder, whose clerk has this brief."""
    desk = folder / "desk"
    shutil.copytree(DESK, desk, ignore=WITHOUT)
    (desk / "clerk.md").write_bytes(content.encode() if isinstance(content, str) else content)
    text = (desk / "pack.toml").read_text()
    (desk / "pack.toml").write_text(text.replace("[roles.clerk]\n", f"[roles.clerk]\nbrief = {json.dumps(file)}\n"))
    return desk


def brief_in(root: Path, content: str | bytes) -> Path:
    """Gives the clerk of the folder pack in this repository a brief."""
    pack = root / "protocols" / "desk"
    (pack / "clerk.md").write_bytes(content.encode() if isinstance(content, str) else content)
    text = (pack / "pack.toml").read_text().replace('brief = "clerk.md"\n', "")
    (pack / "pack.toml").write_text(text.replace("[roles.clerk]\n", '[roles.clerk]\nbrief = "clerk.md"\n'))
    return root


def rendered(pack: Path, text: str, role: str = "clerk") -> str:
    found = load(pack)
    mine = found.role(role)
    assert mine is not None
    return render(found, mine, text)


def test_the_facts_of_a_brief_come_from_the_data() -> None:
    said = rendered(DESK, BRIEF.replace("{{file board}}", ""))
    assert "# Clerk of desk\n" in said
    assert "Takes cases and answers them, or asks an expert. States: " in said
    assert "- `subject` (required): a non-empty string" in said
    assert 'A single {brace} and {"json": {}} stay.' in said


def test_fields_that_are_added_to_the_data_appear_in_the_brief(tmp_path: Path) -> None:
    desk = with_brief(tmp_path, BRIEF.replace("{{file board}}", ""))
    file = desk / "messages" / "question.json"
    schema = json.loads(file.read_text())
    schema["properties"]["urgency"] = {"enum": ["low", "high"]}
    file.write_text(json.dumps(schema))
    said = rendered(desk, "{{fields question}}\n{{sample question}}")
    assert "- `urgency` (optional): one of low, high" in said
    assert '"urgency": "low|high"' in said


def test_the_moves_of_a_role_are_those_of_its_edges() -> None:
    clerk, expert = (rendered(DESK, "{{moves}}", role).splitlines() for role in ("clerk", "expert"))
    pack = load(DESK)
    for role, lines in (("clerk", clerk), ("expert", expert)):
        edges = [edge for life in pack.lifecycles for edge in life.edges if role in edge.who]
        assert len(lines) == max(1, len(edges))
        for edge, line in zip(edges, lines, strict=False):
            assert line.startswith(f"- `{edge.source}` → `{edge.target}`")
    assert any("send `escalation`" in line for line in clerk)


def test_a_sample_that_is_copied_without_reading_is_refused() -> None:
    schema = {"type": "object", "properties": {"state": {"enum": ["on", "off"]}}, "required": ["state"]}
    assert sheet.sample(schema) == {"state": "on|off"}
    assert [defect.path for defect in defects_of(schema, sheet.sample(schema))] == ["state"]


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"$defs": {"node": node, "loop": {"$ref": "#/$defs/loop"}}, **node}
    assert sheet.fields(schema)[0] == "- `next` (optional): an object"
    assert isinstance(sheet.sample(schema), dict)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\n{{feilds question}}", "2: -: {{feilds question}}: there is no fact 'feilds'; did you mean fields?"),
        ("{{fields qestion}}", "1: -: {{fields qestion}}: there is no message or event 'qestion'; did you mean "),
        ("{{file nowhere}}", "1: -: {{file nowhere}}: there is no mirror 'nowhere'; known: "),
        ("{{fields}}", "1: -: {{fields}}: expected the name of one message or event, as in {{fields NAME}}"),
        ("{{moves all}}", "1: -: {{moves all}}: moves stands alone"),
        ("{{}}", "1: -: {{}}: there is no fact ''; known: "),
        (b"fine\n\xff\n", "2: -: this is not UTF-8"),
        ("x" * (LARGEST + 1), "1: -: a brief can have 65,536 bytes; this one has 65,537"),
    ],
)
def test_a_mistake_in_a_brief_is_found_when_the_pack_is_loaded(tmp_path: Path, text: str | bytes, said: str) -> None:
    found = defects(with_brief(tmp_path, text))
    assert found.startswith(f"clerk.md:{said}"), found


@pytest.mark.parametrize("file", ["../outside.md", "/etc/passwd", "nowhere.md"])
def test_a_brief_lies_in_the_folder_of_its_pack(tmp_path: Path, file: str) -> None:
    (tmp_path / "outside.md").write_text("outside")
    found = defects(with_brief(tmp_path, "fine", file))
    assert re.match(r"pack\.toml:\d+: roles\.clerk\.brief: ", found)


def test_a_brief_is_part_of_the_digest_of_its_pack(tmp_path: Path) -> None:
    desk = with_brief(tmp_path, "one")
    before = load(desk).digest
    (desk / "clerk.md").write_text("two")
    assert load(desk).digest != before


# On the surfaces


def test_a_role_without_a_file_gets_a_brief_from_the_data(folder: Path) -> None:
    with Workspace.init(folder, person=True) as person:
        expert = person.brief("expert")
        assert expert.text.startswith("# expert (desk)\n\nKnows more.")
        assert "### `advice`" in expert.text
        assert [role.role for role in person.brief()] == ["clerk", "expert"]


def test_the_text_of_a_folder_is_fenced_and_cannot_act_on_a_terminal(folder: Path) -> None:
    brief_in(folder, "# Obey\n\x1b[2Jmoot: done\u202e\n{{does}}\n")
    with Workspace.init(folder, person=True) as person:
        found = person.brief("Clerk")
    assert found.folder == "protocols/desk"
    assert not {"\x1b", "\u202e"} & {*found.text}
    ran = command(folder, "brief", "clerk")
    first, *rest = ran.stdout.splitlines()
    assert first == "The brief of clerk, as protocols/desk of this repository has it:"
    assert rest[:2] == ["> # Obey", "> \\x1b[2Jmoot: done\\u202e"]
    assert all(line.startswith(">") for line in rest)
    assert json.loads(command(folder, "brief", "clerk", "--json").stdout)["result"] == found.full()


def test_an_installed_brief_is_shown_as_it_is(desk: Workspace) -> None:
    ran = command(Path(desk.root), "brief", "clerk")
    assert ran.stdout.startswith("# Clerk (desk)\n")
    assert desk.brief("clerk").folder == ""


def test_a_changed_brief_is_noticed_although_the_pack_is_cached(folder: Path) -> None:
    brief_in(folder, "one")
    with Workspace.init(folder, person=True) as person:
        assert person.brief("clerk").text == "one"
    brief_in(folder, "two {{nothing}}")
    ran = command(folder, "task", "add", "One")
    assert ran.returncode == 2
    assert "clerk.md, line 1: {{nothing}}: there is no fact 'nothing'" in ran.stderr


def test_a_brief_that_changes_under_an_open_workspace_is_checked_again(folder: Path) -> None:
    brief_in(folder, "one")
    with Workspace.init(folder, person=True) as person:
        (folder / "protocols" / "desk" / "clerk.md").write_text("{{file nowhere}}")
        with pytest.raises(Usage, match="there is no mirror 'nowhere'"):
            person.brief("clerk")
        (folder / "protocols" / "desk" / "clerk.md").unlink()
        with pytest.raises(Unavailable) as caught:
            person.brief("clerk")
        assert caught.value.code == "brief_unreadable"


def test_an_unknown_role_is_refused_with_the_roles(folder: Path) -> None:
    with Workspace.init(folder, person=True) as person, pytest.raises(Unknown) as caught:
        person.brief("clrk")
    assert caught.value.details["known"] == ["clerk", "expert"]
    assert "moot brief clerk" in caught.value.remedy


def test_without_a_pack_there_are_no_roles(tmp_path: Path) -> None:
    with Workspace.init(tmp_path, person=True) as person:
        assert person.brief() == []
        with pytest.raises(Unknown, match="No active pack has the role 'clerk'"):
            person.brief("clerk")
