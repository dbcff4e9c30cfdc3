"""Hands a runner the parts of a call that it needs (`moot.runs.site`)."""

from __future__ import annotations

from contextlib import contextmanager

from moot.runs.site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call


def site_of(call: Call) -> Site:
    """The parts of this call. Its verb works between its commits: an error is an error, whatever it stored before."""
    from moot.api.verbs.effects.allow import commands_of, consent_of

    call.lasting = True
    mirrors = call.mirrors

    def write_document(key: str) -> None:
        for notice in mirrors.restore(call, key) if mirrors is not None else ():
            call.warn(notice.code, notice.message)

    return Site(
        engine=call.engine,
        place=call.place,
        env=dict(call.env),
        cwd=call.cwd,
        wall=call.clock.wall,
        packs=call.packs.packs,
        commands=commands_of(call),
        consent=consent_of(call),
        commit=call.commit,
        sync=call.sync,
        put_blob=call.put_blob,
        blob=call.blob,
        stamp=call.stamp,
        progress=call.progress,
        output=call.output,
        files=lambda key: mirrors.document_files(call, key) if mirrors is not None else iter(()),
        write_document=write_document,
        shown=lambda key: mirrors is None or mirrors.shows(call, key),
        own_files=tuple(_own_files(call)),
        fork=lambda: _forked(call),
    )


@contextmanager
def _forked(call: Call) -> Iterator[Site]:
    """The parts of another call by the same caller, for a thread of its own."""
    with call.workspace.call(call.caller, call.cwd) as own:
        own.output = call.output
        own.login  # noqa: B018 (looked up now, because a decision must not)
        yield site_of(own)


def _own_files(call: Call) -> Iterator[str]:
    """The files of protocols: a path with a part that differs stands for its folder."""
    for spec in call.packs.mirrors:
        before, brace, _ = spec.path.partition("{")
        yield before.rpartition("/")[0] + "/" if brace else spec.path
