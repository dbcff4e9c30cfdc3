"""What a run needs of the workspace: the parts of a call, handed in as values. `moot.api.verbs.runs` makes one."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from moot.core.handler import Handler
    from moot.engine.engine import Engine, Outcome
    from moot.place import Place
    from moot.runs.consent import Consent
    from moot.runs.stage import PipelinePack


class Site(Record):
    """For one thread; `fork` makes another one for a thread of its own.

    commit: decide and append as the caller. sync: take in what others wrote into the files of protocols, and render
    them; `also`: documents, by key. files: the files that show a document (`FileState`). write_document: write them
    again from the log. shown: whether a file shows it. own_files: paths that moot itself may write while a command
    runs; one that ends with `/` is a folder.
    """

    engine: Engine
    place: Place
    env: Mapping[str, str]
    cwd: str
    wall: Callable[[], str]
    packs: tuple[PipelinePack, ...]  # all that are active
    commands: tuple[Handler, ...]  # of agents, in moot.toml
    consent: Consent
    commit: Callable[..., Outcome]
    sync: Callable[..., None]
    put_blob: Callable[[bytes], str]
    blob: Callable[[str], bytes]
    stamp: Callable[[], None]
    progress: Callable[[str, int, int], object]
    output: Callable[[bytes], object] | None
    files: Callable[[str], Iterator[Any]]
    write_document: Callable[[str], None]
    shown: Callable[[str], bool]
    own_files: tuple[str, ...]
    fork: Callable[[], AbstractContextManager[Site]]
