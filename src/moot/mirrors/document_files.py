"""Reads the file of a document without changing anything."""

from __future__ import annotations

from moot.api.protocol.form import Malformed
from moot.api.protocol.mirrors import DocumentFile
from moot.core.strict_json import Torn
from moot.mirrors.file_reading import Changed, Missing, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.protocol.form import Form, Instance
    from moot.mirrors.files import MirrorFile
    from moot.views.store import Store


def examined(form: Form, store: Store, one: Instance, file: MirrorFile) -> DocumentFile:
    """The file as it is now, read by its form, and what it should show."""
    with form.code:
        rendering = form.render(store, one)
        found = DocumentFile(
            document=form.document_of(one),
            path=file.path,
            exists=True,
            root=one.root,
            shows=rendering.data if rendering is not None else None,
            initial=form.initial_leaves(),
        )
        match file.look(None):
            case Missing():
                return found.replace(exists=False)
            case Unreadable(reason=reason):
                return found.replace(fault=reason, barred=True)
            case Changed(data=data):
                return _read(form, found, data)
    raise AssertionError("without a known signature, no file is unchanged")


def _read(form: Form, found: DocumentFile, data: bytes) -> DocumentFile:
    try:
        return found.replace(leaves=form.read(data))
    except Torn as error:
        return found.replace(fault=str(error), line=error.line, column=error.column)
    except Malformed as error:
        return found.replace(fault=str(error))
