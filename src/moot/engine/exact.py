"""What exactly a handler would do on this machine, with the bytes of every file that its command names.

A person allows the digest of all this, and it is performed from the very bytes that were digested:

    run       the words, the directory, the names of the variables; the program by its resolved path, or by its bytes
              if it is a file of the workspace; and each regular file of the workspace that a word names
    python    one file of the workspace, by its bytes; or the resolved path of an installed module
    url       the whole handler, as it is written
    message   the same

A word names a file if it is its path, or has it after an `=`. What a program reads, imports or starts by itself is not
looked at: the person is told so.
"""

from __future__ import annotations

import os
from hashlib import sha256  # noqa: TID253 (this module itself is loaded on demand)
from stat import S_ISREG

from moot.core.compact import dumps
from moot.core.record import Record
from moot.engine.performers import entry
from moot.engine.performers.environment import BASE, outside, search_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from moot.core.handler import Handler

_INTERPRETERS = frozenset(
    ("sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "python", "perl", "ruby", "node", "php", "lua")
)
_LARGEST = 64 << 20  # bytes of all files of a handler


class File(Record):
    """A regular file of the workspace that is run, or given to what is run, as a private copy."""

    word: int  # which word of the command names it
    before: str  # what stands before its name in that word, such as `--config=`
    path: str  # below the root
    sha256: str
    mode: int
    content: bytes


class Exact(Record):
    """See the module. `trouble`: why it can be neither allowed nor performed."""

    handler: Handler
    cwd: str
    digest: str
    program: str | None = None  # outside of the workspace; None if it is the first of `files`, or was not found
    files: tuple[File, ...] = ()
    module: str | None = None  # the file of an installed module
    trouble: str | None = None

    @property
    def script(self) -> str | None:
        """Where the first file stands in the workspace."""
        return os.path.join(self.cwd, self.files[0].path) if self.files else None


class _Trouble(Exception):
    """The text says what is wrong, and what to do instead."""


def exactly(handler: Handler, root: str, env: Mapping[str, str]) -> Exact:
    """Read once: what is in the answer is what was digested."""
    root = os.path.realpath(root)
    if handler.kind not in ("run", "python"):
        return Exact(handler=handler, cwd=root, digest=sha256(handler.content.encode()).hexdigest())
    program = module = None
    files: tuple[File, ...] = ()
    try:
        if handler.python is None:
            program, files = _command(handler, root, env)
        else:
            module, files = _function(handler.python.partition(":")[0], root)
    except _Trouble as trouble:
        return Exact(handler=handler, cwd=root, digest="", trouble=str(trouble))
    said = {
        "content": handler.content,
        "cwd": root,
        "env": [*BASE, *handler.env],
        "program": None if program is None else [program, os.path.realpath(program)],
        "files": [[file.word, file.path, file.sha256] for file in files],
        "module": module,
    }
    digest = sha256(dumps(said).encode()).hexdigest()
    return Exact(handler=handler, cwd=root, digest=digest, program=program, files=files, module=module)


def _command(handler: Handler, root: str, env: Mapping[str, str]) -> tuple[str | None, tuple[File, ...]]:
    first, *_ = words = handler.run
    program = None
    named: list[tuple[int, str, str]] = []
    if os.sep not in first:
        program = found(first, root, env)
        if program is not None and not outside(os.path.realpath(program), root):
            named.append((0, "", program))  # a link from elsewhere into the workspace
    elif is_elsewhere(os.path.join(root, first), root):
        program = os.path.abspath(os.path.join(root, first))
    else:
        named.append((0, "", first))
    for number, word in enumerate(words[1:], 1):
        if os.sep in word or not _is_code(words, number):
            named += [(number, before, name) for before, name in _names(word)]
    files = tuple(_read(root, named))
    return None if files and files[0].word == 0 else program, files


def _is_code(words: tuple[str, ...], number: int) -> bool:
    """Whether a word is a program itself, after `sh -c`: a bare name in it is looked up in PATH."""
    return interpreter(words[0]) and words[number - 1][:1] == "-" and words[number - 1][-1:] == "c"


def interpreter(program: str) -> bool:
    return os.path.basename(program).rstrip("0123456789.") in _INTERPRETERS


def _names(word: str) -> Iterator[tuple[str, str]]:
    yield "", word
    option, equals, name = word.partition("=")
    if equals and name:
        yield option + equals, name


def found(name: str, root: str, env: Mapping[str, str]) -> str | None:
    """The program of that name, as a shell would find it, in directories that the workspace cannot write to."""
    for directory in search_path(env, root):
        path = os.path.join(directory, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _read(root: str, named: list[tuple[int, str, str]]) -> Iterator[File]:
    left, done = _LARGEST, set()
    for word, before, name in named:
        path = os.path.join(root, name)
        if word in done or is_elsewhere(path, root):
            continue
        content = _content(path, root, name, left)
        if content is None:
            continue
        left -= len(content[1])
        done.add(word)
        real = os.path.relpath(os.path.realpath(path), root)
        digest = sha256(content[1]).hexdigest()
        yield File(word=word, before=before, path=real, sha256=digest, mode=content[0], content=content[1])


def is_elsewhere(path: str, root: str) -> bool:
    """Whether a path leads neither through the workspace nor into it."""
    return outside(os.path.abspath(path), root) and outside(os.path.realpath(path), root)


def _content(path: str, root: str, name: str, limit: int) -> tuple[int, bytes] | None:
    """Mode and bytes of a regular file; None if it is none."""
    if not os.path.isfile(path):
        return None
    real = os.path.realpath(path)
    if outside(real, root):
        raise _Trouble(f"{name} is a link to {real}, outside of the workspace: name that file instead")
    try:
        file = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
        with open(file, "rb") as stream:
            status = os.fstat(file)
            if not S_ISREG(status.st_mode):
                raise _Trouble(f"{name} is not a regular file")
            content = stream.read(limit + 1)
    except OSError as error:
        raise _Trouble(f"{name} cannot be read: {error.strerror}") from error
    if len(content) > limit:
        raise _Trouble(
            f"the files that it names are larger than {_LARGEST >> 20} MiB: let the command read them itself"
        )
    return status.st_mode & 0o777, content


def _function(module: str, root: str) -> tuple[str | None, tuple[File, ...]]:
    """One file of the workspace, or else an installed module."""
    below = os.path.join(*module.split("."))
    files = tuple(_read(root, [(0, "", f"{below}.py")]))
    if files:
        return None, files
    installed = entry.located(module, root)
    if installed is not None:
        return installed, ()
    if os.path.isdir(os.path.join(root, below)):
        raise _Trouble(
            f"{below} is a package of the repository: a function comes from one file ({below}.py), "
            "or from an installed distribution"
        )
    raise _Trouble(f"there is no file {below}.py in the workspace, and no installed module {module}")
