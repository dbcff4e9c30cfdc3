"""Receipts as proofs: which receipt applies, and whether it is valid for the current files."""

from __future__ import annotations

from moot.core.deciders import receipt as receipts
from moot.core.errors import Unknown
from moot.core.principal import person, same_agent
from moot.core.record import Record
from moot.engine import content_digest
from moot.place import worktrees
from moot.views import queries, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.core.deciders.receipt import Receipt
    from moot.engine.content_digest import Tree
    from moot.engine.unit_of_work import Work

_LOOKED_AT = 1000  # newest receipts to search for the caller's last one


class ReceiptProof(Record):
    """A receipt for a task, and the content that it must match. Read before the commit."""

    id: str
    task: str
    now: Tree

    def checked(self, work: Work) -> str:
        """Its id, if it is valid; otherwise raises the reason."""
        state = work.state("receipt", self.id)
        changed = content_digest.changed_paths(state.differs, self.now.differs) if state.passed else None
        receipts.check(state, self.task, self.now.name, changed or ())
        return self.id


def proof(call: Call, task: str, verb: str | None, to: str, given: str | None) -> ReceiptProof | None:
    """A given receipt must match the caller's files; the receipt of a task must match the worktree where it was made.

    Equal content has one name, so a receipt from another worktree with the same files is valid too.
    """
    store = call.engine.read()
    if given is not None:
        name = last(call, task) if given == "last" else given
        state, _ = states.state(store, "receipt", name)
        return ReceiptProof(name, task, content(call, base=state.commit))
    found, _ = states.task(store, task)
    life = call.engine.lifecycles.get(found.lifecycle)
    edge = (life.edge(verb, found.state) if verb else life.between(found.state, to)) if life else None
    if edge is None or "receipt" not in edge.needs or found.receipt is None:
        return None
    state, _ = states.state(store, "receipt", found.receipt)
    return ReceiptProof(found.receipt, task, content(call, state, base=state.commit))


def content(call: Call, receipt: Receipt | None = None, *, base: str | None = None) -> Tree:
    """The content of the receipt's worktree, if that worktree still exists; otherwise of the caller's.

    `base`: the commit that its files are compared with; None: HEAD.
    """
    roots = {known.root for known in worktrees(call.place)} if receipt is not None else set()
    root = receipt.worktree if receipt is not None and receipt.worktree in roots else call.place.root
    return content_of(call, root, base)


def content_of(call: Call, root: str, base: str | None = None) -> Tree:
    """The content of a worktree."""
    own = [spec.path for spec in call.packs.mirrors if not spec.counts]
    return content_digest.of(root, own, common=call.place.common, base=base, listed=receipts.PATHS_LIMIT)


def last(call: Call, task: str | None = None) -> str:
    """The id of the caller's newest receipt for a task. Without a task: its newest; for a person, that of anybody."""
    me = call.caller.agent or person(call.login)
    for receipt in queries.things(call.engine.read(), "receipt", _LOOKED_AT, ended=True):
        own = same_agent(receipt.by, me)
        if (own and receipt.task in (None, task)) if task else (own or call.caller.agent is None):
            return str(receipt.id)
    about = " for this task" if task else ""
    raise Unknown("unknown_receipt", f"You have no receipt{about}.", "Run a check: `moot check -- COMMAND`.")
