"""A pytest plugin for users of moot: the fixture `moot_workspace` and the marker that configures it.

pytest finds the plugin wherever moot is installed, and loads it in every run. So it imports nothing from moot before a
test uses the fixture. Nothing else in moot knows pytest.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


@contextmanager
def kinds(more: Mapping[str, str]) -> Iterator[None]:
    """Register additional kinds in this process while the context is active: prefix → "module:attribute".

    The command line that is called in this process (`moot.surfaces.cli.main.main`) knows them as well.
    """
    from moot.core.kind import TABLE, use

    use({**TABLE, **more})
    try:
        yield
    finally:
        use(TABLE)
