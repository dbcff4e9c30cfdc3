"""Where the document, the spec file and the report of a source file are.

The project root is found from the source file, never from the working directory: the first directory above it with
`.git`. The rules are those of the protocol; nothing here writes, and only `project_of` looks at the file system.
"""

from __future__ import annotations

import os
import stat

from moot.core.errors import Refused, Usage
from moot.core.record import Record

FOLDER = "rspec_claude_metadata"
SYSTEM = "/tmp"  # noqa: S108 (the protocol names it; the folder below it is checked before it is used)
_DIGEST = 8  # hexadecimal digits that tell two names apart
_LONGEST = 180  # bytes of a name, with room for what is put before and after it
_EFFECTIVE = os.access in os.supports_effective_ids
_CODE = ("app", "lib")  # folders that begin the path of a source outside any repository


class Project(Record):
    """A source file and its project. `root` is its repository, if it has one."""

    root: str
    source: str  # relative to the root, with forward slashes
    repository: bool
    temporary: bool = False  # it has a directory `tmp` that can be written
    blocked: str = ""  # why its `tmp` cannot be used; empty if it has none

    @property
    def name(self) -> str:
        return os.path.basename(self.root)

    @property
    def absolute(self) -> str:
        return os.path.join(self.root, *self.source.split("/"))

    @property
    def named(self) -> str:
        """The path that gives the document its name: outside a repository, the absolute one."""
        return self.source if self.repository else self.absolute.lstrip("/")


def find_root(source: str) -> str | None:
    """The first directory above a file with `.git`, which is a file in worktrees and submodules."""
    directory = os.path.dirname(os.path.abspath(source))
    while True:
        if os.path.lexists(os.path.join(directory, ".git")):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def project_of(source: str, cwd: str) -> Project:
    """The project of a source file. The file need not exist; a link that leads out of the project is refused."""
    if not source.endswith(".rb"):
        raise Usage(
            "not_ruby",
            f"Not a Ruby source file: {source[:200]}",
            "Give the path of a file whose name ends in .rb.",
        )
    path = os.path.normpath(os.path.join(cwd, source))
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    root = find_root(path)
    inside = root if root is not None else _outside_root(path)
    relative = os.path.relpath(path, inside)
    real = os.path.realpath(path)
    if root is not None and os.path.islink(path) and os.path.commonpath((root, real)) != root:
        raise Refused(
            "source_outside",
            f"{relative} is a link that leads out of its repository, to {real}.",
            "Give the real file, in its own repository.",
        )
    blocked = _blocked(os.path.join(root, "tmp")) if root is not None else ""
    temporary = root is not None and not blocked and os.path.isdir(os.path.join(root, "tmp"))
    return Project(root=inside, source=relative, repository=root is not None, temporary=temporary, blocked=blocked)


def _blocked(temporary: str) -> str:
    """Why a `tmp` cannot be used; empty if it can, or there is none."""
    if not os.path.lexists(temporary):
        return ""
    if not _is_folder(temporary):
        return "is a link" if os.path.islink(temporary) else "is not a directory"
    inner = os.path.join(temporary, FOLDER)
    used = inner if _is_folder(inner) else temporary
    return "" if os.access(used, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE) else "cannot be written"


def _outside_root(path: str) -> str:
    """The project root of a source outside any repository: above its `app` or `lib`, else its own directory."""
    parts = os.path.dirname(path).split(os.sep)
    found = [number for number, part in enumerate(parts) if part in _CODE and number > 0]
    return os.sep.join(parts[: found[-1]]) or os.sep if found else os.path.dirname(path)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def digest_of(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]


def stem_of(path: str, *, distinct: bool = False) -> str:
    """`app/services/payment.rb` gives `app_services_payment`; a `distinct` one ends with a digest of the path.

    So does one that would be too long for the name of a file. It keeps its end, which says most.
    """
    plain = path.removeprefix("./").removesuffix(".rb").strip("/").replace("/", "_")
    whole = os.fsencode(plain)
    if len(whole) > _LONGEST:
        plain, distinct = whole[-_LONGEST:].decode("utf-8", "ignore").lstrip("_"), True
    return f"{plain}_{digest_of(path)}" if distinct else plain


def document_name(stem: str) -> str:
    return f"metadata_{stem}.yml"


def report_name(stem: str) -> str:
    return f"review_report_{stem}.md"


def folder_of(project: Project, system: str = SYSTEM, *, distinct: bool = False) -> str:
    """The directory of the project's documents. A `distinct` one has a digest of the root in its name."""
    if project.temporary:
        return os.path.join(project.root, "tmp", FOLDER)
    if not project.repository:
        return os.path.join(system, FOLDER)
    name = f"{project.name}_{digest_of(project.root)}" if distinct else project.name
    return os.path.join(system, f"{name}_{FOLDER}")


def spec_of(source: str) -> str:
    """The standard place of a spec: `app/models/user.rb` gives `spec/models/user_spec.rb`."""
    return f"spec/{source.removeprefix('app/').removesuffix('.rb')}_spec.rb"
