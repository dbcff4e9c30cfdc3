"""What git and its filters learn from moot's environment: nothing that makes them a person or an agent."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.command import Command, git, new_command


def test_a_filter_of_the_repository_is_neither_a_person_nor_an_agent(tmp_path: Path) -> None:
    run: Command = new_command(tmp_path)
    assert run("init", MOOT_PERSON="1").code == 0
    assert run("join", "Ada").code == 0
    seen = tmp_path / "seen"
    dump = tmp_path / "dump"
    dump.write_text(f"#!/bin/sh\nenv >> {seen}\ncat\n")
    dump.chmod(0o755)
    git(run.repo, "config", "filter.f.clean", str(dump))
    (run.repo / ".gitattributes").write_text("*.txt filter=f\n")
    (run.repo / "a.txt").write_text("text")
    given = {"MOOT_PERSON": "1", "MOOT_AGENT": "Ada", "MOOT_INCARNATION": "1", "GIT_AUTHOR_NAME": "evil"}
    assert run("check", "--", "true", **given).code == 0
    lines = seen.read_text().splitlines()
    assert any(line.startswith("PATH=") for line in lines), "the filter was run"
    assert [line for line in lines if line.startswith(("MOOT_", "GIT_AUTHOR"))] == []
