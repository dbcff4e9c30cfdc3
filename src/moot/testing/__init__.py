"""A pytest plugin for users of moot: the fixture `moot_workspace` and the marker that configures it.

pytest finds the plugin wherever moot is installed, and loads it in every run. So it imports nothing from moot before a
test uses the fixture. Nothing else in moot knows pytest.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.testing.rehearsal import Rehearsal


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "moot(packs=(), files=(), git=True, patience=30): the packs of `moot_workspace`, the files and folders that it "
        "starts with, whether it is a git repository, and the maximum number of seconds to wait",
    )


@pytest.fixture
def moot_workspace(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rehearsal]:
    """A temporary workspace with scripted agents. Failures of agents fail the test; at its end the log is verified."""
    from moot.testing.rehearsal import rehearse

    marker = request.node.get_closest_marker("moot")
    wanted = {} if marker is None else marker.kwargs
    yield from rehearse(tmp_path_factory.mktemp("moot"), monkeypatch.delenv, **wanted)
