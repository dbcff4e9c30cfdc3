"""The events, the state, the commands and the limits of file claims. The rules are in `moot.core.deciders.claims`."""

from __future__ import annotations

from moot.core.payload import SILENCE, Payload
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

STREAM = "claims"
MODES = ("exclusive", "shared")
CLAIM_LIMIT = 10_000  # live claims
PATH_LIMIT = 500  # paths of one claim
GLOB_LIMIT = 20  # patterns among them; each is compared with every live path under the writer lock
LIVE_PATH_LIMIT = 20_000
LIVE_GLOB_LIMIT = 1_000
OWN_CLAIM_LIMIT = 500  # live claims of one holder; twenty holders can use their full share
OWN_PATH_LIMIT = 1_000
OWN_GLOB_LIMIT = 50
REASON_LIMIT = 2_000
TTL_LIMIT = 30 * 24 * 3600
SHOWN_LIMIT = 20  # collisions listed in a refusal
OVERRIDE_LIMIT = 100  # files that an override lists
_ID_LETTERS = 7
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(token: Callable[[int], str]) -> str:
    """The name of a claim, from a source of random words."""
    return f"c-{token(_ID_LETTERS)}"


def is_id(text: str) -> bool:
    """Whether it has the form of a claim id. A file may have such a name, too."""
    return text.startswith("c-") and len(text) == _ID_LETTERS + 2 and all(char in _ALPHABET for char in text[2:])


class Claimed(Payload):
    type = "file:claimed"
    said = "claimed {paths:typed} ({mode})"
    words = ("reason",)
    names = ("paths",)
    marks = ("id", "holder", "mode", "task", "worktree")
    id: str
    holder: str
    paths: tuple[str, ...]
    mode: str
    ttl: float
    reason: str = ""
    task: str | None = None
    worktree: str | None = None


class Released(Payload):
    type = "file:released"
    said = "released {paths:typed}"
    asides = (("forced", "by force, {holder} held it"), ("left", "keeps {left:typed}"))
    words = ("reason",)
    names = ("paths",)
    marks = ("id", "holder", "left")
    id: str
    holder: str
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()  # what the claim keeps; none: it ended
    forced: bool = False  # by somebody else than the holder
    reason: str = ""


class Lapsed(Payload):
    type = "file:lapsed"
    said = "{holder} lost {paths:typed}"
    asides = (SILENCE,)
    words = ("reason",)
    names = ("paths",)
    marks = ("id", "holder")
    id: str
    holder: str
    paths: tuple[str, ...]
    ttl: float
    reason: str  # silent, replaced
    silent_for: float | None = None


class Overridden(Payload):
    """A commit or push changed files of the claim although its guard refused it. The claim itself does not change."""

    type = "file:overridden"
    said = "overrode the claim {id} of {holder} in a {act}: {paths}"
    words = ("reason",)
    names = ("paths",)
    marks = ("id", "holder", "who", "act")
    id: str
    holder: str
    who: str
    act: str  # commit, push
    paths: tuple[str, ...]  # the first of the files
    count: int = 0  # of all the files
    reason: str = ""


class ClaimAwaited(Claimed):
    """The holder waits for these paths. It gets the claim, with this id, in the commit that frees the last of them."""

    type = "file:awaited"
    said = "waits for {paths} ({mode})"


class ClaimUnawaited(Payload):
    type = "file:unawaited"
    said = "{holder} no longer waits for {paths}"
    words = ("reason",)
    names = ("paths",)
    marks = ("id", "holder")
    id: str
    holder: str
    paths: tuple[str, ...]
    reason: str = ""


EVENTS: dict[str, type[Payload]] = {
    cls.type: cls for cls in (Claimed, Released, Lapsed, Overridden, ClaimAwaited, ClaimUnawaited)
}


class Claim(Record):
    id: str
    holder: str
    paths: tuple[str, ...]
    mode: str
    ttl: float
    token: int
    reason: str = ""
    task: str | None = None
    worktree: str | None = None


class ClaimsState(Record):
    """`waiting`: the claims that holders wait for, in the order in which they asked."""

    live: Mapping[str, Claim] = {}
    waiting: Mapping[str, Claim] = {}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{part: {name: Claim.of(one) for name, one in data.get(part, {}).items()} for part in _PARTS})


_PARTS = ("live", "waiting")


class Collision(Record):
    """A live claim in the way: which of its paths, which path asked for, and an example that both match."""

    claim: Claim
    path: str
    asked: str
    witness: str

    def told(self) -> dict[str, Any]:
        """The details for the refused caller."""
        claim = self.claim
        return {
            "asked": self.asked,
            "path": self.path,
            "witness": self.witness,
            "claim": claim.id,
            "holder": claim.holder,
            "mode": claim.mode,
            "token": claim.token,
            "task": claim.task,
            "worktree": claim.worktree,
            "reason": claim.reason,
        }


class ClaimFiles(Record):
    id: str
    holder: str
    paths: tuple[str, ...]
    mode: str
    ttl: float
    reason: str = ""
    task: str | None = None
    worktree: str | None = None
    silent: tuple[tuple[str, float], ...] = ()  # (claim, seconds) of holders that were silent
    fold: bool = False


def covering(state: ClaimsState, command: ClaimFiles) -> Claim | None:
    """The holder's own claim that has all of these paths, in the same mode and worktree."""
    from moot.core.paths import canonical_pattern

    asked = set(map(canonical_pattern, command.paths))
    same = (command.holder, command.worktree, command.mode)
    mine = (claim for claim in state.live.values() if (claim.holder, claim.worktree, claim.mode) == same)
    return next((claim for claim in mine if asked.issubset(claim.paths)), None)


class ReleaseFiles(Record):
    holder: str
    ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    worktree: str | None = None  # where the paths are; None: in all of them
    force: bool = False
    reason: str = ""
    fold: bool = False


class AwaitFiles(ClaimFiles):
    """Claim the files, or wait in line for them."""


class ReleaseAll(Record):
    """The holder leaves."""

    holder: str
    reason: str = ""


class ReleaseForTask(Record):
    """The task has ended, or somebody else has started it: `new_holder` keeps its own claims."""

    task: str
    reason: str
    new_holder: str | None = None

    def ends(self, claim: Claim) -> bool:
        return claim.task == self.task and claim.holder != self.new_holder


class LapseClaims(Record):
    silent: tuple[tuple[str, float], ...]


class SupersedeHolder(Record):
    """An agent joined again: its older incarnations lose their claims."""

    old: tuple[str, ...]


class OverrideClaim(Record):
    """The guard of a repository was switched off for a commit or push that changes claimed files."""

    id: str
    who: str
    act: str
    paths: tuple[str, ...]
    reason: str = ""


Releasing = ReleaseFiles | ReleaseAll | ReleaseForTask
Command = ClaimFiles | Releasing | LapseClaims | SupersedeHolder | OverrideClaim
