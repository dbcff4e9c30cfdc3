"""The base class of event payloads: type, version, and the meaning of each field for search, redaction and display."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


ALL = "*"  # in `words`: every field may hold text
SILENCE = ("silent_for", "silent for {silent_for:age}, limit {ttl:age}")  # an aside of events that end a lease


class Payload(Record):
    """The data of one event. Subclasses set `type`, and raise `v` when a field changes its meaning.

    An event that records its command as it is inherits the fields: `class EntryHeld(HoldEntry, Payload)`.

    Every field that can hold text is in one of four lists, or `tests/core/test_words.py` fails:

    words: text written by people. Searchable and redactable.
    quiet: text that search leaves out. Redactable.
    names: text that rules depend on and people search for, such as paths. Searchable, not redactable.
    marks: text that rules depend on: ids, principals, states. Neither searchable nor redactable.

    blobs: the fields that name blobs by their SHA-256 (`moot.engine.blobs`): a text, or a list or table of texts. Blobs
    are part of backups and exports, and `moot redact` removes them.

    said: the event as a sentence, a template of its fields. `{argv:words}` joins with blanks, `{old:json}` writes JSON,
    `{ttl:age}` writes seconds as `30m`, `{paths:typed}` writes patterns as people type them, `{during:named}` names by
    id as `checks/notify (e-1)`.
    asides: pairs of a field and a template; each is added in brackets if the field is not empty.
    """

    type: ClassVar[str] = ""
    v: ClassVar[int] = 1
    words: ClassVar[tuple[str, ...]] = ()
    quiet: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[str, ...]] = ()
    blobs: ClassVar[tuple[str, ...]] = ()
    said: ClassVar[str] = ""
    asides: ClassVar[tuple[tuple[str, str], ...]] = ()
