"""Source files by their paths: which are testable, where their specs are, and reading them safely.

Paths are relative to the project root, with `/`. A repository is untrusted: a link is never followed out of it, and
sizes are bounded.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from moot.core.errors import MootError, Refused, Unknown

EXTENSION = ".rb"
_SPEC_END = "_spec.rb"
_NOT_TESTABLE = ("db/migrate/", "config/", "bin/", "script/", "vendor/")
LARGEST = 1 << 20  # bytes of a source file


def is_testable(path: str) -> bool:
    """Whether a path is that of Ruby code that can have a spec."""
    return path.endswith(EXTENSION) and not path.endswith(_SPEC_END) and not path.startswith(_NOT_TESTABLE)


def is_text(path: str) -> bool:
    """Whether a path can be written into a document: names of files may be any bytes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def spec_path(path: str) -> str:
    """Where the spec of a source belongs: `app/models/payment.rb` gives `spec/models/payment_spec.rb`."""
    return f"spec/{path.removeprefix('app/').removesuffix(EXTENSION)}{_SPEC_END}"


def read_source(root: str, path: str) -> bytes:
    """The content of a source file. `path` must stay inside `root`, links included."""
    whole = os.path.join(root, path)
    real = os.path.realpath(whole)
    if not _inside(os.path.realpath(root), real):
        raise Refused(
            "source_outside",
            f"{path} leads out of the repository, to {real}.",
            "Give a file of this repository, or replace the link with the file.",
            file=path,
        )
    try:
        file = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise missing(path) from None
    except OSError as problem:
        raise _unreadable(path, problem.strerror or "it cannot be opened") from problem
    try:
        found = os.fstat(file)
        if not S_ISREG(found.st_mode):
            raise _unreadable(path, "it is not a regular file")
        if found.st_size > LARGEST:
            raise Refused(
                "source_too_large",
                f"{path} is too large: it has {found.st_size:,} bytes, and at most {LARGEST:,} are read.",
                "Give a smaller file, or split this one.",
                file=path,
            )
        with os.fdopen(os.dup(file), "rb") as reader:
            data = reader.read(LARGEST)
    finally:
        os.close(file)
    if b"\0" in data:
        raise _unreadable(path, "it is a binary file")
    return data


def relative_path(root: str, cwd: str, given: str) -> str:
    """A path that a caller typed, relative to the project root. A link is resolved to the file it leads to."""
    if not is_text(given):
        name = ascii(given)[1:-1]
        raise Refused("source_name", f"The name of {name} is not UTF-8.", "Rename the file.", file=name)
    real_root = os.path.realpath(root)
    real = os.path.realpath(os.path.join(cwd, given)) if "\0" not in given else ""
    if not _inside(real_root, real):
        raise Refused(
            "source_outside",
            f"{given} is outside the repository {real_root}.",
            "Run the command in the repository that contains the file.",
            file=given,
        )
    return os.path.relpath(real, real_root)


def missing(path: str) -> MootError:
    return Unknown("source_missing", f"There is no file {path}.", "Check the path; it is relative to where you are.")


def not_testable(path: str) -> MootError:
    reason = "a spec" if path.endswith(_SPEC_END) else "not Ruby code that is tested by a spec"
    return Refused(
        "source_not_testable",
        f"{path} is {reason}.",
        f"Give a file that ends in {EXTENSION}, not in {_SPEC_END}, and is not below "
        f"{', '.join(folder.rstrip('/') for folder in _NOT_TESTABLE)}.",
        file=path,
    )


def _inside(root: str, path: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _unreadable(path: str, why: str) -> MootError:
    return Refused("source_unreadable", f"{path} cannot be read: {why}.", "Give a text file with Ruby code.", file=path)
