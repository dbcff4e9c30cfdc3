"""A disk that fills while an agent works, for this process alone: `unshare -m python -m tests.specs.full_disk PACK …`.

With `nearly` as the last word, it is nearly full before the run begins, each time with a bit more room. Otherwise the
agent's command empties the spec file and takes all the room first, unless a file says that it should not. Then it
does its work, as far as that is possible without room. Prints what each command said, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.specs.rspec.shop import Shop as Bookshop
from tests.specs.rspec_v1.shop import AGENT, SOURCE, SPEC, Shop

SIZE = 16 << 20
ROOMS = (24, 40, 64, 80, 120)  # KB
GREEDY = """\
#!/bin/sh
if [ ! -e {disk}/calm ]; then
  : > {spec}
  head -c {size} /dev/zero > {disk}/ballast 2> /dev/null
fi
exec "$@"
"""


class Scene:
    """A project on a small disk. `spec` is the file that the greedy agent writes."""

    def __init__(self, pack: str, disk: Path, home: Path) -> None:
        self.disk, self.said = disk, []  # type: ignore[var-annotated]
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(disk)], check=True, timeout=30)
        self.greedy = disk.parent / "greedy"
        self.greedy.touch(0o755)
        os.environ.update({"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "MOOT_PERSON": "1"})
        self.root, self.spec, self.words = self._first() if pack == "rspec-v1" else self._second()
        self.greedy.write_text(GREEDY.format(disk=disk, spec=self.spec, size=2 * SIZE))

    def _first(self) -> tuple[Path, Path, list[str]]:
        shop = Shop(self.disk / "shop", Path(os.environ["HOME"]), pytest.MonkeyPatch())
        command = json.dumps([str(self.greedy), sys.executable, str(AGENT), "good"])
        shop.write("moot.toml", f'packs = ["rspec-v1"]\n[run.rspec-v1]\narchitect = {command}\n')
        return shop.root, shop.root / SPEC, ["rspec-v1", "run", SOURCE, "process"]

    def _second(self) -> tuple[Path, Path, list[str]]:
        shop = Bookshop(self.disk)
        shop.stock("models/book")
        shop.open()
        settings = shop.root / "moot.toml"
        name = "test-implementer = { command = ["
        settings.write_text(settings.read_text().replace(name, f"{name}{str(self.greedy)!r}, "))
        return shop.root, shop.root / "spec/models/book_spec.rb", ["rspec", "cover", "--branch", "--yes"]

    def moot(self, *words: str) -> dict[str, Any]:
        ran = subprocess.run(
            [sys.executable, "-m", "moot", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found = {"words": " ".join(words), "code": ran.returncode, "out": ran.stdout, "err": ran.stderr}
        self.said.append(found)
        return found


def play(pack: str, disk: str, home: str) -> dict[str, Any]:
    scene = Scene(pack, Path(disk), Path(home))
    scene.moot("init")
    scene.moot("allow", "--all", "--yes")
    full = scene.moot(*scene.words)
    emptied = scene.spec.read_text()
    status = scene.moot("run", "status")
    (scene.disk / "ballast").unlink()
    (scene.disk / "calm").touch()
    verified = scene.moot("verify")
    settled = scene.moot("run", "status")
    restored = scene.moot("run", "restore", json.loads(scene.moot("run", "status", "--json")["out"])["result"]["run"])
    spec = scene.spec.read_text()
    again = [*scene.words, "--resume"] if pack == "rspec-v1" else ["rspec", "resume"]
    resumed = scene.moot(*again)
    return {
        "full": full,
        "emptied": emptied,
        "status": status,
        "verified": verified,
        "settled": settled,
        "restored": restored,
        "spec": spec,
        "resumed": resumed,
        "last": scene.spec.read_text(),
        "said": scene.said,
    }


def nearly(pack: str, disk: str, home: str) -> dict[str, Any]:
    """Runs with 24 KB of room and more, up to one that ends well."""
    scene = Scene(pack, Path(disk), Path(home))
    scene.moot("init")
    scene.moot("allow", "--all", "--yes")
    (scene.disk / "calm").touch()
    runs = []
    for room in ROOMS:
        with (scene.disk / "ballast").open("wb") as ballast:
            free = os.statvfs(scene.disk)
            ballast.write(bytes(max(0, free.f_bavail * free.f_frsize - (room << 10))))
        runs.append({**scene.moot(*scene.words), "room": room})
        (scene.disk / "ballast").unlink()
    return {"runs": runs, "verified": scene.moot("verify"), "said": scene.said}


if __name__ == "__main__":
    print(json.dumps((nearly if sys.argv[4:] == ["nearly"] else play)(*sys.argv[1:4])))
