"""The verbs of the pack as typed methods.

from moot import Workspace
from moot.packs.rspec_v1.methods import RspecV1Methods

with Workspace() as ws:
    rspec = ws.pack(RspecV1Methods)
    outcome = rspec.run("app/services/payment_service.rb", "process_payment")
    print(outcome.report)
"""

# The return types are declared here and checked by the tests of this module.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from moot.api.protocol.pack_methods import PackMethods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from moot.api.verbs.runs.status import RunStatus
    from moot.packs.rspec_v1.shipped import Rule
    from moot.packs.rspec_v1.verbs.progress import PipelineOutcome
    from moot.packs.rspec_v1.verbs.queries import DocumentVerdict, MetadataCache
    from moot.packs.rspec_v1.verbs.reviewing import ReviewResult
    from moot.packs.rspec_v1.verbs.status import CharacteristicNode, RecordedFinding
    from moot.packs.rspec_v1.verbs.versions import SpecVersion


class RspecV1Methods(PackMethods):
    """See the module."""

    def run(
        self,
        path: str,
        method: str,
        *,
        class_: str | None = None,
        level: str | None = None,
        overwrite: bool = False,
        resume: bool = False,
        again: bool = False,
        wait: bool = False,
    ) -> PipelineOutcome:
        """Run the whole pipeline for one method."""
        return self._ask("rspec-v1 run", locals())

    def analyzer(
        self, path: str, method: str, *, class_: str | None = None, level: str | None = None, wait: bool = False
    ) -> PipelineOutcome:
        return self._ask("rspec-v1 analyzer", locals())

    def validation(self, path: str, *, wait: bool = False) -> PipelineOutcome:
        return self._ask("rspec-v1 validation", locals())

    def skeleton(self, path: str, *, wait: bool = False, overwrite: bool = False) -> PipelineOutcome:
        return self._ask("rspec-v1 skeleton", locals())

    def architect(self, path: str, *, wait: bool = False, overwrite: bool = False) -> PipelineOutcome:
        return self._ask("rspec-v1 architect", locals())

    def implementer(self, path: str, *, wait: bool = False) -> PipelineOutcome:
        return self._ask("rspec-v1 implementer", locals())

    def factory_optimizer(self, path: str, *, wait: bool = False) -> PipelineOutcome:
        return self._ask("rspec-v1 factory-optimizer", locals())

    def polisher(self, path: str, *, wait: bool = False) -> PipelineOutcome:
        return self._ask("rspec-v1 polisher", locals())

    def reviewer(self, path: str, *, wait: bool = False) -> PipelineOutcome | ReviewResult:
        """Review a spec file; one that no run has made is reviewed without a document."""
        return self._ask("rspec-v1 reviewer", locals())

    def status(self, path: str) -> RunStatus:
        return self._ask("rspec-v1 status", locals())

    def errors(self, path: str) -> list[RecordedFinding]:
        return self._ask("rspec-v1 errors", locals())

    def characteristics(self, path: str) -> Sequence[CharacteristicNode]:
        return self._ask("rspec-v1 characteristics", locals())

    def report(self, path: str, *, run: str | None = None) -> dict[str, str]:
        return self._ask("rspec-v1 report", locals())

    def versions(
        self, path: str, *, show: int | None = None, diff: int | None = None
    ) -> list[SpecVersion] | str | list[str]:
        """The versions of the spec file; `show`: the text of one; `diff`: the lines that differ from the next."""
        return self._ask("rspec-v1 versions", locals())

    def metadata_path_for(self, source: str) -> str:
        """The path of the metadata document of a source file."""
        return self._ask("rspec-v1 path", {"path": source})

    def metadata_valid(self, source: str) -> bool:
        """Whether the metadata document of a source file can be used again."""
        found: MetadataCache = self._ask("rspec-v1 cache", {"path": source})
        return found.valid

    def path(self, path: str) -> str:
        return self._ask("rspec-v1 path", locals())

    def dir(self, path: str) -> str:
        return self._ask("rspec-v1 dir", locals())

    def validate(self, path: str) -> DocumentVerdict | MetadataCache:
        """Check a metadata file; or, for a source file, whether its cached document is valid."""
        return self._ask("rspec-v1 validate", locals())

    def cache(self, path: str, *, detail: bool = False) -> MetadataCache:
        return self._ask("rspec-v1 cache", locals())

    def stages(self) -> list[dict[str, Any]]:
        """The declarations of the eight stages."""
        return self._ask("rspec-v1 stages", locals())

    def rules(self) -> list[Rule]:
        return self._ask("rspec-v1 rules", locals())

    def contract(self, part: str | None = None) -> Any:
        """The shipped data: schema, exit codes, stages, path and cache rules."""
        return self._ask("rspec-v1 contract", locals())
