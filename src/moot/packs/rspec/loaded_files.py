"""The files of a project that a run of RSpec has loaded, each with a digest: what a review depends on besides its spec.

RSpec loads helpers, factories and the code that the spec uses, and only RSpec knows which (`counting.rb`). A few more
files decide how it runs. What an example reads otherwise (a database, the network, the clock, files of data, gems
outside the project) is not known, nor is a file that RSpec would load now and did not exist then, nor one whose name is
not UTF-8.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from moot.runs.file_digests import FileDigests, mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SETTINGS = (".rspec", ".rspec-local", "Gemfile", "Gemfile.lock", "spec/spec_helper.rb", "spec/rails_helper.rb")
MOST = 5000  # files of one run
_LARGEST = 16 << 20  # bytes of one file
_NONE, _UNSURE = "-", "?"


class LoadedFiles:
    """Digests of the files of one project. Each content is read once (`moot.runs.file_digests`)."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._known = FileDigests(follow=False)

    def digests(self, names: Iterable[str], more: Iterable[str], since: float) -> dict[str, str] | None:
        """The files among these names that are in the project, and these paths; None if they are too many.

        `since`: when RSpec was started. What changed after that may not be what was loaded, so its digest never fits.
        """
        inside = f"{self._root}/"
        real = {os.path.realpath(os.path.join(self._root, name)) for name in names}
        paths = sorted({one.removeprefix(inside) for one in real if one.startswith(inside)} | {*SETTINGS, *more})
        return {path: self._digest(path, since) for path in paths} if len(paths) <= MOST else None

    def changed(self, recorded: Mapping[str, str]) -> str:
        """The first file that is not as it was; empty if there is none."""
        return next((path for path, one in recorded.items() if self._digest(path) != one), "")

    def _digest(self, path: str, since: float = float("inf")) -> str:
        whole = os.path.join(self._root, path)
        try:
            found = os.lstat(whole)
            if not S_ISREG(found.st_mode) or found.st_size > _LARGEST or found.st_mtime >= since:
                return _UNSURE
            return self._known.digest(whole, mark_of(found))
        except (FileNotFoundError, NotADirectoryError):
            return _NONE
        except OSError:
            return _UNSURE


def now() -> float:
    """The time that modification times are compared with."""
    return time.time()
