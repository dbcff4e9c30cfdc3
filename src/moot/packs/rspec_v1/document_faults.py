"""Documents that a request must not cost: one whose file cannot be parsed, and one of another method of the source."""

from __future__ import annotations

from moot.core.deciders.document import MOOT
from moot.core.errors import MootError
from moot.packs.rspec_v1.analyzing import advice_on
from moot.packs.rspec_v1.locating import PACK, documents_at
from moot.runs import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.unit_of_work import Work
    from moot.packs.rspec_v1.requests import Request

_LARGEST = 16 << 20


def put_aside(call: Call, request: Request) -> None:
    """Write a file that cannot be parsed again, from the log. Its bytes stay in quarantine (`moot held`)."""
    from moot.api.verbs.documents import restore

    if call.mirrors is None:
        return
    for one in documents_at(call, request.location.document)[:1]:
        if any(file.fault for file in call.mirrors.document_files(call, one.id)):
            restore(call, one.id, None)


def check_method(call: Call, request: Request) -> None:
    """Refuse a method that the source does not have, if the file shows the document of another one.

    The error is noted in that document, which otherwise stays as it is. Without one, the analyzer itself fails and
    leaves a document with the error.
    """
    shown = next(iter(documents_at(call, request.location.document)), None)
    if shown is None or shown.id == request.key or "/target/file" not in shown.leaves:
        return
    error = _fault(request)
    if error is None:
        return
    pack = next(one for one in call.packs.packs if one.name == PACK)
    assert pack.pipeline is not None, "the pack declares a pipeline"
    pointer = pack.pipeline.errors

    def act(work: Work) -> None:
        state = work.state("document", shown.id)
        values = documents.noted(state.leaves, pointer, "analyzer", (error.message,))
        changes = [documents.DocumentChange(MOOT, values)] if values else []
        for command in documents.commands(pack, documents.ref_of(state), state, changes):
            work.do("document", shown.id, command)

    call.commit(act)
    error.remedy = advice_on(error)
    raise error


def _fault(request: Request) -> MootError | None:
    """Why the method cannot be found; None if it can, or the source cannot be read."""
    from moot.packs.ruby.declarations import declarations
    from moot.packs.ruby.regular_files import read_regular
    from moot.packs.ruby.syntax import parse
    from moot.packs.ruby.targets import find_method

    asked = request.target.parameters
    kind = {"instance": "#", "class": "."}.get(str(asked.get("method_type")), "")
    try:
        source = parse(read_regular(request.location.project.absolute, _LARGEST)[0])
        find_method(source, declarations(source), f"{kind}{asked.get('method', '')}", asked.get("class") or None)
    except OSError:
        return None
    except MootError as error:
        return error
    return None
