"""The form `source`: a JSON object in a file that moot only reads, such as a configuration.

The path may have a placeholder, `.notes/{name}.json`: then each such file is a source. What the files say is kept in
the log, as documents: see `moot.api.protocol.source_form`. A pack with code reads other formats with its own form.
"""

from __future__ import annotations

from moot.api.protocol.form import Malformed
from moot.api.protocol.source_form import PROBLEMS, SourceForm
from moot.core import flat_json, strict_json
from moot.core.record import Record
from moot.mirrors.templates import filled, subjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, ClassVar


class UnusableSource(Record):
    reason: str


class JsonSourceForm(SourceForm):
    """See the module."""

    fields: ClassVar[Mapping[str, Any]] = {"type": "object", "additionalProperties": False}

    def found(self, root: str) -> Iterable[tuple[str, str]]:
        if "{" not in self.spec.path:
            return super().found(root)
        return ((subject, filled(self.spec.path, subject)) for subject in sorted(subjects(root, self.spec.path)))

    def read(self, data: bytes) -> dict[str, Any]:
        content = strict_json.load(data)
        if not isinstance(content, dict):
            raise Malformed("the file is not an object")
        return flat_json.flatten(content, {})

    def unusable(self, reason: str, data: bytes | None) -> UnusableSource:  # noqa: ARG002
        return UnusableSource(reason=reason)

    def leaves(self, content: dict[str, Any] | UnusableSource, subject: str) -> Mapping[str, Any]:  # noqa: ARG002
        return {PROBLEMS: [content.reason]} if isinstance(content, UnusableSource) else content
