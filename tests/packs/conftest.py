"""The help desk, once as a folder of a repository and once as an installed package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot import Workspace

HERE = Path(__file__).resolve().parent
DESK = HERE / "desk"
WITHOUT = shutil.ignore_patterns("__pycache__")


def repository(path: Path) -> Path:
    path.mkdir()
    subprocess.run(["git", "init", "-q", str(path)], check=True, timeout=60)
    return path


def settings(root: Path, text: str) -> None:
    (root / "moot.toml").write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository that brings the help desk along. Nothing of it is turned on in this process before `init`."""
    root = repository(tmp_path / "repo")
    shutil.copytree(DESK, root / "protocols" / "desk", ignore=WITHOUT)
    settings(root, 'packs = ["desk"]\n\n[pack.desk]\npath = "protocols/desk"\n')
    return root


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place where the help desk is installed under another module's name, for this process and those it starts."""
    site = tmp_path / "site"
    shutil.copytree(DESK, site / "helpdesk", ignore=WITHOUT)
    about = site / "helpdesk-2.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: helpdesk\nVersion: 2.1\n")
    (about / "entry_points.txt").write_text("[moot.packs]\ndesk = helpdesk.protocol:Desk\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    yield site
    for name in [name for name in sys.modules if name.partition(".")[0] == "helpdesk"]:
        del sys.modules[name]


@pytest.fixture
def desk(tmp_path: Path, site: Path) -> Iterator[Workspace]:
    """A person in a workspace where the installed help desk is on."""
    root = repository(tmp_path / "repo")
    settings(root, 'packs = ["desk"]\n\n[pack.desk]\nlargest = 20\n')
    with Workspace.init(root, person=True) as person:
        yield person


@pytest.fixture
def crew(desk: Workspace) -> Iterator[dict[str, Workspace]]:
    """A clerk, an expert, and somebody who asks."""
    names = {"clerk": ("Carla", "clerk"), "expert": ("Ed", "expert"), "asker": ("Ann", ())}
    found = {}
    for who, (name, role) in names.items():
        found[who] = Workspace(desk.root)
        found[who].join(name, role=role)
    yield found
    for workspace in found.values():
        workspace.close()
