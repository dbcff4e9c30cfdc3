"""The verbs of the pack as typed methods.

from moot import Workspace
from moot.packs.rspec.methods import Rspec

with Workspace() as ws:
    rspec = ws.pack(Rspec)
    plan = rspec.discover(branch=True)
    rspec.cover(branch=True, only="Payment#*")
"""

# The return types are declared here and checked by the tests of this module.
# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from moot.api.protocol.pack_methods import PackMethods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.packs.rspec.caching import RspecCache
    from moot.packs.rspec.cover import CoverStop
    from moot.packs.rspec.cover_report import CoverReport
    from moot.packs.rspec.cover_run import SingleStage

    Some = str | Sequence[str]


class Rspec(PackMethods):
    """See the module."""

    def discover(
        self, path: str | None = None, *, branch: bool = False, staged: bool = False, base: str | None = None
    ) -> dict[str, Any]:
        """The answer of discovery-agent: waves of methods, files, the dependency graph and a summary."""
        return self._ask("rspec discover", locals())

    def cover(
        self,
        path: str | None = None,
        *,
        branch: bool = False,
        staged: bool = False,
        base: str | None = None,
        all: bool = False,
        only: Some = (),
        except_: Some = (),
        yes: bool = False,
        level: str | None = None,
        instruction: str | None = None,
        limit: int | None = None,
        again: bool = False,
        overwrite: bool = False,
        continue_: bool = False,
        output: bool = False,
    ) -> CoverReport | CoverStop:
        """Cover changed methods with tests. A `CoverStop` says that it was stopped, or waits for a selection."""
        return self._ask("rspec cover", locals())

    def select(self, answer: Some = (), *, run: str | None = None) -> CoverReport | CoverStop:
        """Choose the methods of a run that waits for it, and go on."""
        return self._ask("rspec select", locals())

    def resume(
        self,
        run: str | None = None,
        *,
        limit: int | None = None,
        again: bool = False,
        overwrite: bool = False,
        continue_: bool = False,
        output: bool = False,
    ) -> CoverReport | CoverStop:
        """Go on with the last run, or with the one named."""
        return self._ask("rspec resume", locals())

    def stage(self, slug: str, name: str, *, overwrite: bool = False, output: bool = False) -> SingleStage:
        """Run one stage of one document."""
        return self._ask("rspec stage", locals())

    def cache(self, source: str) -> RspecCache:
        """Whether the results for a source file or a slug are valid."""
        return self._ask("rspec cache", locals())

    def stages(self) -> list[dict[str, Any]]:
        """The declarations of the seven stages."""
        return self._ask("rspec stages", locals())
