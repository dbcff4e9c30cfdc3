"""Files that are already there in the places of documents that moot does not know yet: somebody else wrote them."""

from __future__ import annotations

from moot.core import strict_yaml
from moot.core.errors import Refused
from moot.packs.rspec.document_check import REMNANTS
from moot.pipelines.contract import StageError
from moot.runs import contents
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from moot.api.call import Call
    from moot.pipelines.contract import Target


def check_found(call: Call, targets: Iterable[Target]) -> None:
    """Refuse a file that is about another source. Warn of keys that only the older format has."""
    for target in targets:
        ref, source = target.document, target.paths["source"][0]
        if ref is None or states.state(call.engine.read(), "document", ref.key)[0].status:
            continue
        try:
            data = contents.read(target.root, (ref.path,)).files.get(ref.path, b"")
            found = strict_yaml.load_mapping(data) if data.strip() else {}
        except (StageError, strict_yaml.TornYaml):  # the first stage says what is wrong
            continue
        if found.get("source_file") not in (None, source):
            raise Refused(
                "document_of_another_source",
                f"{ref.path} is about {str(found['source_file'])[:200]}, and its name belongs to {source}.",
                "Move the file away, or delete it; then run the command again.",
                file=ref.path,
            )
        for key in (one for one in REMNANTS if one in found):
            call.warn("document", f"{ref.path}: {key} is a remnant of the older format and has no meaning here.")
