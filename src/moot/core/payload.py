"""What every event has in common: a type and a version beside its fields, and what its fields mean to people."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


ALL = "*"  # among `words`: every field holds some
SILENCE = ("silent_for", "silent for {silent_for:.0f} s of {ttl:.0f} s")  # an aside of what ends by silence


class Payload(Record):
    """The data of one event. Subclasses set `type`, and raise `v` when a field changes its meaning.

    Every field that can hold text is in one of four lists, or `tests/core/test_words.py` fails:

    words: what people wrote. Search finds it, and it can be redacted.
    quiet: what programs or people wrote that search leaves out. It can be redacted.
    names: what rules go by and people look for, such as paths. Search finds it, and it stays.
    marks: what rules go by: ids, principals, states. Search leaves it out, and it stays.

    blobs: the fields that name bytes kept beside the log, by their SHA-256 (`moot.engine.blobs`): a text, or a list or
    table of texts. They go with the event in backups and exports, and `moot redact` removes them.

    said: the event in a sentence, a template of its fields. `{argv:words}` joins with blanks, `{old:json}` writes JSON.
    asides: pairs of a field and a template; each is added in brackets where the field is not empty.
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
