"""What a person has allowed on this machine: handlers and commands of a repository, pinned to their exact bytes.

A repository is untrusted. None of its commands runs until a person has allowed its exact content on this machine.
Consent is stored outside every repository, per workspace (`moot.place.user_state`). A person allows the digest of what
a command would do (`pin`), and moot then runs exactly the bytes that were digested:

    run       the words, the directory, the names of the variables; the program by its resolved path, or by its bytes
              if it is a file of the workspace; and each regular file of the workspace that a word names
    message   the whole handler, as written

A file of the workspace is a file in any of its worktrees. A word names a file as the whole word, after `=`, after `@`,
or right after the letter of an option (`-fFILE`). The `#!` line of a script must not name a program of the workspace.
Files that a program reads, imports or starts by itself are not covered, and the person is warned about that.
"""

from __future__ import annotations

import os
import time
from hashlib import sha256  # noqa: TID253 (this module itself is loaded on demand)
from stat import S_ISREG

from moot.core.errors import Refused, Unavailable
from moot.core.json_codec import dumps
from moot.core.record import Record
from moot.core.text import command_line, one_line
from moot.place import caches, user_state
from moot.place.environment import BASE, real_path, search_path
from moot.place.private_files import outside, unsafe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.core.handler import Handler

_FOLDER = "allowed"
_RUN_TEXT = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "python"))  # with -c
_INTERPRETERS = _RUN_TEXT | {"perl", "ruby", "node", "php", "lua"}
_LARGEST = 64 << 20  # bytes of all files of a handler
_LONGEST = 255  # bytes of a first line that systems read whole
_WIDTH = 200  # characters of a command in an error


class Consent:
    """The consent for one workspace. `workspace` is the id of its log; its path counts too: a copy inherits nothing.

    Handlers run in `root`, commands of agents in `here`. Files in them, in other worktrees and in the state directory
    belong to the workspace. `more` returns the current worktrees, because they can change while a runner runs.

    A line of the file has a digest, the name that it was allowed for, and digests of the files that were covered.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        workspace: str,
        state: str,
        root: str,
        here: str | None = None,
        more: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._env = env
        self._more = more
        self._here = os.path.realpath(here or root)
        self._roots = tuple(os.path.realpath(path) for path in (root, state, self._here))
        self._name = user_state.workspace_name(workspace, state)
        self.root = self._roots[0]  # where its commands run
        self.path = os.path.join(user_state.home(env), _FOLDER, self._name)
        self._seen: list[Any] = []  # the signature of the file that `_known` was read from; empty: read it again
        self._known: dict[str, list[str]] = {}

    def pinned(self, handler: Handler) -> PinnedHandler:
        """What the handler would do now, with the bytes of its files."""
        return pin(handler, self._here if handler.stage else self.root, self._env, *self._roots, *self._more())

    def allows(self, handler: Handler) -> bool:
        return self.granted(handler) is not None

    def granted(self, handler: Handler) -> PinnedHandler | None:
        """What the handler would do now, if exactly that is allowed; otherwise None."""
        known = self.known()
        pinned = self.pinned(handler) if known else None
        return pinned if pinned is not None and pinned.trouble is None and pinned.digest in known else None

    def lack(self, handler: Handler) -> str:
        """Why a handler that is not allowed is not: nobody has allowed it, or it changed since."""
        earlier = [parts for name, *parts in self.known().values() if name == handler.name]
        if not earlier:
            return "nobody has allowed it on this machine"
        changed = [file.path for file in self.pinned(handler).files if file.mark not in earlier[-1]]
        return ": ".join(("its content changed since it was allowed", *filter(None, [", ".join(changed)])))

    def known(self) -> dict[str, list[str]]:
        """What is allowed, by digest: its name and the marks of its files. Read again whenever the file has changed."""
        self._check()
        now = self._signature()
        if not now or now != self._seen:
            try:
                text = (user_state.read(self._env, _FOLDER, self._name) or b"").decode("ascii")
            except (OSError, UnicodeDecodeError) as error:
                raise self._unavailable(error) from error
            rows = [line.split() for line in text.splitlines()]
            self._known, self._seen = {row[0]: row[1:] for row in rows if len(row) > 1}, now
        return self._known

    def _signature(self) -> list[Any]:
        """That of the file; empty if there is none, or it is so young that it could change and keep its signature."""
        try:
            found = caches.signature(user_state.path_of(self._env, _FOLDER, self._name))
        except OSError:
            return []
        return found if abs(time.time() - found[-1] / 1e9) > caches.YOUNG else []

    def give(self, pinned: Iterable[PinnedHandler]) -> None:
        """Allow exactly these. What was allowed earlier under the same names stays allowed, for other branches."""
        named = {one.digest: [one.handler.name, *(file.mark for file in one.files)] for one in pinned}
        self._keep({**{digest: row for digest, row in self.known().items() if digest not in named}, **named})

    def take_back(self, names: Iterable[str]) -> None:
        gone = set(names)
        self._keep({digest: row for digest, row in self.known().items() if row[0] not in gone})

    def _keep(self, known: Mapping[str, Sequence[str]]) -> None:
        content = "".join(f"{' '.join((digest, *row))}\n" for digest, row in known.items()).encode("ascii")
        try:
            user_state.write(self._env, _FOLDER, self._name, content=content)
        except OSError as error:
            raise self._unavailable(error) from error

    def _check(self) -> None:
        """Refuse a consent file inside the workspace: the repository could have brought it."""
        if not all(outside(self.path, root) for root in self._roots):
            home = user_state.home(self._env)
            raise unsafe(home, "it is inside this workspace", "export XDG_STATE_HOME=/a/directory/outside/of/it")

    def _unavailable(self, error: Exception) -> Unavailable:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        return Unavailable(
            "consent_unusable",
            f"The consent file cannot be read or written: {why} ({self.path}).",
            "Make the file readable and writable for you only, or remove it and allow again.",
        )


def not_allowed(consent: Consent, commands: Sequence[Handler]) -> Refused:
    """The error for commands that a run needs and that may not run here."""
    names = [command.name for command in commands]
    what = "; ".join(
        f"{command.name} would {one_line(command.what, _WIDTH)}, but {consent.lack(command)}" for command in commands
    )
    return Refused(
        "not_allowed",
        f"Not allowed: {what}.",
        f"Inspect and allow: `{command_line('allow', *names)}`.",
        commands=names,
    )


# --- pinning ---------------------------------------------------------------------------------------------------------


class PinnedFile(Record):
    """A regular file of the workspace that is run, or passed to the program, as a private copy."""

    word: int  # which word of the command names it
    before: str  # the part of the word before the name, such as `--config=`
    path: str  # below the root
    sha256: str
    mode: int
    content: bytes
    text: bool = False  # the word is the text of `sh -c`, so it is not replaced

    @property
    def mark(self) -> str:
        """Its name and content in a few letters."""
        return sha256(f"{self.sha256} {self.path}".encode("utf-8", "surrogateescape")).hexdigest()[:16]


class PinnedHandler(Record):
    """A handler with its exact content. `trouble`: why it cannot be allowed or performed."""

    handler: Handler
    cwd: str
    digest: str
    program: str | None = None  # outside the workspace; None if it is the first of `files`, or was not found
    files: tuple[PinnedFile, ...] = ()
    trouble: str | None = None
    roots: tuple[str, ...] = ()  # of the workspace: `cwd`, its other worktrees, its state

    @property
    def script(self) -> str | None:
        """The path in the workspace of the first file that is copied."""
        path = next((file.path for file in self.files if not file.text), None)
        return None if path is None else os.path.normpath(os.path.join(self.cwd, path))


class _Trouble(Exception):
    """The text describes the problem and what to do instead."""


def pin(handler: Handler, root: str, env: Mapping[str, str], *worktrees: str) -> PinnedHandler:
    """Read each file once, so the result contains the digested bytes. The handler runs in `root`."""
    roots = tuple(dict.fromkeys(map(real_path, dict.fromkeys((root, *worktrees)))))
    root = roots[0]
    if handler.kind != "run":
        return PinnedHandler(handler=handler, cwd=root, digest=sha256(handler.content.encode()).hexdigest())
    try:
        program, files = _command(handler, roots, env)
    except _Trouble as trouble:
        return PinnedHandler(handler=handler, cwd=root, digest="", trouble=str(trouble))
    said = {
        "content": handler.content,
        "cwd": root,
        "env": [*BASE, *handler.env],
        "program": None if program is None else [program, real_path(program)],
        "files": [[file.word, file.path, file.sha256] for file in files],
    }
    digest = sha256(dumps(said).encode()).hexdigest()
    return PinnedHandler(handler=handler, cwd=root, digest=digest, program=program, files=files, roots=roots)


def _command(
    handler: Handler, roots: tuple[str, ...], env: Mapping[str, str]
) -> tuple[str | None, tuple[PinnedFile, ...]]:
    first, *_ = words = handler.run
    program = None
    named: list[tuple[int, str, str]] = []
    if os.sep not in first:
        program = _in_path(first, roots, env)
        if program is not None and not outside(real_path(program), *roots):
            named.append((0, "", program))  # a link from elsewhere into the workspace
    elif is_elsewhere(os.path.join(roots[0], first), roots):
        program = os.path.abspath(os.path.join(roots[0], first))
    else:
        named.append((0, "", first))
    for number, word in enumerate(words[1:], 1):
        named += [(number, before, name) for before, name in _names(word)]
    files = tuple(
        file.replace(text=True) if program and _is_text(words, file.word) else file for file in _read(roots, named)
    )
    if program is None and os.sep in first and not any(file.word == 0 for file in files):
        raise _Trouble(f"there is no file {first}")
    for file in files:
        _check_first_line(file, roots)
    return None if files and files[0].word == 0 else program, files


def _is_text(words: tuple[str, ...], number: int) -> bool:
    """Whether a word is program text: `sh -c cat` finds cat in PATH. A file with that name is still digested."""
    return number == 2 and words[1] == "-c" and _plain(words[0]) in _RUN_TEXT and os.sep not in words[2]


def _plain(program: str) -> str:
    return os.path.basename(program).rstrip("0123456789.")


def _check_first_line(file: PinnedFile, roots: tuple[str, ...]) -> None:
    """Refuse a script whose `#!` line names a program or file of the workspace: it would not be digested."""
    if not file.content.startswith(b"#!"):
        return
    line = file.content[2 : _LONGEST + 1].partition(b"\n")[0]
    # The system separates words only at spaces and tabs. Any other blank belongs to a name.
    words = [os.fsdecode(word) for word in line.replace(b"\t", b" ").split(b" ") if word]
    odd = len(line) >= _LONGEST - 1 or any(sign in line for sign in b"\0'\"\\$") or not words
    if odd or not os.path.isabs(words[0]):
        raise _Trouble(f"the first line of {file.path} must name its interpreter by a plain absolute path")
    by_name = os.path.basename(words[0]) == "env" and len(words) > 1 and not {os.sep, "="} & set(words[1])
    for word in words[2:] if by_name else words[1:]:
        for _, name in _names(word):
            path = os.path.join(roots[0], name)
            if not is_elsewhere(path, roots) and (os.sep in name or os.path.lexists(path)):
                raise _Trouble(_through(file, name))
    if not is_elsewhere(words[0], roots):
        raise _Trouble(_through(file, words[0]))


def _through(file: PinnedFile, name: str) -> str:
    return (
        f"{file.path} would run through {name}, which is in the workspace: put {name} into `run` before the script, "
        "and let the script's first line name an installed interpreter"
    )


def interpreter(program: str) -> bool:
    return _plain(program) in _INTERPRETERS


def _names(word: str) -> Iterator[tuple[str, str]]:
    """Every part of a word that could be a path, with the text before it."""
    starts = {0, *(at + 1 for at, sign in enumerate(word) if sign == "=")}
    if word[:1] == "-" and word[1:2] not in ("-", ""):
        starts.add(2)
    starts |= {at + 1 for at in starts if word[at : at + 1] == "@"}
    return ((word[:at], word[at:]) for at in sorted(starts) if word[at:])


def _in_path(name: str, roots: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """The program with that name in PATH, ignoring directories inside the workspace."""
    for directory in search_path(env, *roots):
        path = os.path.join(directory, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _read(roots: tuple[str, ...], named: list[tuple[int, str, str]]) -> Iterator[PinnedFile]:
    left, done = _LARGEST, dict[int, str]()
    for word, before, name in named:
        path = os.path.join(roots[0], name)
        if is_elsewhere(path, roots):
            continue
        content = _content(path, roots, name, left)
        if content is None:
            continue
        if word in done:
            raise _Trouble(f"one word of the command names two files, {done[word]} and {name}: rename one of them")
        left -= len(content[1])
        done[word] = name
        real = os.path.relpath(os.path.realpath(path), roots[0])
        digest = sha256(content[1]).hexdigest()
        yield PinnedFile(word=word, before=before, path=real, sha256=digest, mode=content[0], content=content[1])


def is_elsewhere(path: str, roots: tuple[str, ...]) -> bool:
    """Whether neither the path nor its real path is in the workspace."""
    return outside(os.path.abspath(path), *roots) and outside(real_path(path), *roots)


def _content(path: str, roots: tuple[str, ...], name: str, limit: int) -> tuple[int, bytes] | None:
    """Mode and bytes of a file; None if it is not a regular file."""
    if not os.path.isfile(path):
        return None
    real = os.path.realpath(path)
    if outside(real, *roots):
        raise _Trouble(f"{name} is a link to {real}, outside the workspace: use that path instead")
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
            f"the files in the command are larger than {_LARGEST >> 20} MiB: let the command read them itself"
        )
    return status.st_mode & 0o777, content
