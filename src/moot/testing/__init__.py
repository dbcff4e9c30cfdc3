"""A pytest plugin for those who build on moot: the fixture `moot_workspace`, and the marker that says what is in it.

pytest finds it by itself where moot is installed. It is loaded in every run, also in those that have nothing to do with
moot: so it loads nothing of moot before a test asks for the fixture. Nothing else in moot knows pytest.
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
        "moot(packs=(), git=True, patience=30): what `moot_workspace` holds, whether it is a git repository, and for "
        "how many seconds it waits at most",
    )


@pytest.fixture
def moot_workspace(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rehearsal]:
    """A temporary workspace with scripted agents. The test reports where they failed; at its end all is verified."""
    from moot.testing.rehearsal import rehearse

    marker = request.node.get_closest_marker("moot")
    wanted = {} if marker is None else marker.kwargs
    yield from rehearse(tmp_path_factory.mktemp("moot"), monkeypatch.delenv, **wanted)


@contextmanager
def kinds(more: Mapping[str, str]) -> Iterator[None]:
    """Inside it, these kinds are known beside moot's own, in this process: prefix → "module:attribute".

    The command line that is called in this process (`moot.surfaces.cli.main.main`) knows them as well.
    """
    from moot.core.kind import TABLE, use

    use({**TABLE, **more})
    try:
        yield
    finally:
        use(TABLE)
