"""Reads the file of a document without changing anything."""

from __future__ import annotations

from moot.api.protocol.form import Malformed, Torn
from moot.api.protocol.mirrors import DocumentFile
from moot.mirrors.file_reading import Changed, Missing, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.protocol.form import Form
    from moot.mirrors.files import MirrorFile


def examined(form: Form, file: MirrorFile) -> DocumentFile:
    """The file as it is now, read by its form."""
    match file.look(None):
        case Missing():
            return DocumentFile(file.path, exists=False)
        case Unreadable(reason=reason):
            return DocumentFile(file.path, exists=True, fault=reason)
        case Changed(data=data):
            try:
                with form.code:
                    return DocumentFile(file.path, exists=True, leaves=form.read(data))
            except Torn as error:
                return DocumentFile(file.path, exists=True, fault=str(error), line=error.line, column=error.column)
            except Malformed as error:
                return DocumentFile(file.path, exists=True, fault=str(error))
    raise AssertionError("without a known signature, no file is unchanged")
