"""Plans: where issues come from, in which waves they are done, and what cannot be planned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.specs.specflow.backlog import Site, issue, numbers


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path / "project")
    yield made
    made.close()


@pytest.mark.proves("S3-WAVE-01", "S3-NAME-04")
def test_a_wave_has_the_issues_whose_dependencies_lie_in_earlier_ones(site: Site) -> None:
    listed = [issue(52), issue(50), issue(51, "Depends on #50"), issue(53, "text\n**Blocks:** #51, and #54"), issue(54)]
    for _ in range(2):  # the same plan twice
        plan = site.plan(*listed)
        assert numbers(plan) == [[50, 52, 53], [51, 54]]
        first = plan["waves"][0]
        assert (first["number"], first["team"]) == (1, "Fianna")
        assert [one["agent"] for one in first["issues"]] == ["Yeats", "Swift", "Beckett"]
    assert site.task("wave-1").state == "planned"
