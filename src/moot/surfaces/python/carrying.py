"""Export, backup and redaction as typed methods. See `moot.surfaces.python.verbs`."""

# ruff: noqa: A002
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import overload  # noqa: TID253 (no command loads this module)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    from moot.transfer.redact import RedactedField
    from moot.transfer.verbs import Copied, Exported

    Some = str | Sequence[str]


class Carrying(ABC):
    """See the module."""

    @abstractmethod
    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        """Run a verb; `given` is the `locals()` of the calling method."""

    @overload
    def export(  # type: ignore[overload-overlap]  # "-" is a text, too
        self, file: Literal["-"] = ..., *, after: int = ..., type: Some = ..., stream: Some = ..., force: bool = ...
    ) -> Iterator[dict[str, Any]]: ...

    @overload
    def export(
        self, file: str, *, after: int = ..., type: Some = ..., stream: Some = ..., force: bool = ...
    ) -> Exported: ...

    def export(
        self, file: str = "-", *, after: int = 0, type: Some = (), stream: Some = (), force: bool = False
    ) -> Exported | Iterator[dict[str, Any]]:
        """Write the events to a file as JSON Lines; without a file, yield the events."""
        return self._ask("export", locals())

    def backup(self, file: str, *, force: bool = False) -> Copied:
        return self._ask("backup", locals())

    def redact(
        self,
        thing: str,
        *,
        field: Some = (),
        reason: str | None = None,
        key: str | None = None,
    ) -> RedactedField:
        return self._ask("redact", locals())
