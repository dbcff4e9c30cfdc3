"""The format of documents in files: JSON, or YAML for names that end with `.yml` or `.yaml`."""

from __future__ import annotations

from moot.api.protocol import strict_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.protocol import MirrorSpec


class JsonFormat:
    """See `moot.api.protocol.strict_json`."""

    name = "json"
    shows_its_end = True  # a file that was cut off is not valid

    def parse(self, data: bytes) -> object:
        """Raises `Torn`."""
        return strict_json.load(data)

    def write(self, content: Mapping[str, Any]) -> bytes:
        return strict_json.dump(content)


class YamlFormat(JsonFormat):
    """See `moot.api.protocol.strict_yaml`. It is loaded only to read or to write a file."""

    name = "yaml"
    shows_its_end = False

    def __init__(self, order: Mapping[str, Sequence[str]], quoted: Sequence[str]) -> None:
        self._order, self._quoted = order, quoted

    def parse(self, data: bytes) -> object:
        from moot.api.protocol import strict_yaml

        return strict_yaml.load_mapping(data)

    def write(self, content: Mapping[str, Any]) -> bytes:
        from moot.api.protocol import strict_yaml

        return strict_yaml.dump(content, self._order, self._quoted)


def format_of(spec: MirrorSpec) -> JsonFormat:
    by_name = "yaml" if spec.path.endswith((".yml", ".yaml")) else "json"
    if spec.fields.get("format", by_name) == "json":
        return JsonFormat()
    return YamlFormat(spec.fields.get("order", {}), spec.fields.get("quoted", ()))
