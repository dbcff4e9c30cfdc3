"""Renders the log into mirror files: those that changed, and those whose streams moved. Requires the mirrors' lock."""

from __future__ import annotations

from moot.mirrors.files import Unwritable
from moot.mirrors.sync_context import showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.protocol.form import Form, Rendering
    from moot.mirrors.absorbing import Absorber
    from moot.mirrors.state_cache import Known
    from moot.mirrors.sync_context import Seen, SyncContext
    from moot.views.store import Store

_PAGE = 1000  # events: above this number, everything is rendered


class Renderer:
    """See the module. Content that a write displaces is left to the next look."""

    def __init__(self, context: SyncContext, absorber: Absorber) -> None:
        self._context, self._memory, self._absorber = context, context.memory, absorber

    def render(self, store: Store, cursor: int, all_seen: list[Seen], blocked: set[str], changed: set[str]) -> bool:
        """Render the files that need it. False if a write displaced content that must be absorbed."""
        settled, moved = True, self._moved(cursor)
        made: dict[tuple[Form, str, str], Rendering | None] = {}
        for seen in all_seen:
            form, one, path = seen.form, seen.one, seen.file.path
            known = self._memory.known(path)
            if path in blocked or known.absent in ("ignored", "folder", "spoiled") or not form.writable:
                continue
            behind = form not in moved and form.is_behind(store, one, known.memo)
            if form not in moved and path not in changed and known.signature is not None and not behind:
                continue
            key = (form, one.subject, one.worktree if form.spec.scope == "worktree" else "")
            if key not in made:
                with form.code:
                    made[key] = form.render(store, one)
            rendering = made[key]
            if rendering is not None and rendering.then is not None:
                self._absorber.do_then(seen, rendering.then)
                settled, made[key] = False, rendering.replace(then=None)  # another worktree shows the same
                continue
            settled = self._write(seen, known, rendering) and settled
        return settled

    def _moved(self, cursor: int) -> list[Form]:
        """The forms that show events since the last rendering."""
        context, after, news = self._context, self._memory.rendered, self._context.news
        if self._memory.maker != context.maker or self._memory.commit is None:
            return context.forms
        if cursor <= after:
            return []
        if len(news) != cursor - after or news[0].position != after + 1:
            news = context.engine.log.read(after, _PAGE)
        return context.forms if len(news) >= _PAGE else showing(news, context.forms)

    def _write(self, seen: Seen, known: Known, rendering: Rendering | None) -> bool:
        path, context = seen.file.path, self._context
        if rendering is None or (rendering.optional and known.signature is None):
            memo = rendering.memo if rendering is not None else known.memo
            context.know(path, absent="" if known.signature else "nothing", due=False, memo=memo)
            return True
        form = seen.form
        written = seen.file.write(rendering.data, known.signature, sync=form.durable)
        if isinstance(written, Unwritable):
            said = f"{path} cannot be written: {written.reason}. A later command tries again."
            context.warn("mirror_pending", said)
            context.know(path, due=True)  # so that the next call tries again
            return True
        memo = form.remember(known.memo, rendering.memo)
        context.know(path, signature=written.signature, memo=memo, absent="", due=False, rests=form.rests)
        if written.displaced:  # the next look finds it, together with what was written before it into other files
            context.before[path] = known.memo
        return not written.displaced
