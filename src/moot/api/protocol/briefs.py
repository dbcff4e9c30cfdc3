"""Briefs of roles: what an agent in a role must know, as text. Facts in them come from the data of the pack.

A brief is a Markdown file of the pack. In it,

    {{title}} {{pack}} {{does}}     the title of the role, the pack, what the role does
    {{files}}                       the files that the role reads and writes, with the messages in them
    {{messages}}                    every message that the role sends: fields, a sample, the command
    {{fields TYPE}} {{sample TYPE}} the same of one message or event
    {{moves}}                       the state changes that the role may cause, and how
    {{states}}                      the states of a task, in order
    {{file NAME}}                   the path of a mirror

are replaced; everything else stays as it is, single braces too. A role without a file gets `brief.md`. Pure, except
that `brief_of` reads the file.
"""

from __future__ import annotations

import json
import re  # noqa: TID253 (this module itself is loaded on demand)

from moot.core.record import Record
from moot.core.schema import sheet
from moot.core.task import by_verb
from moot.core.text import closest, command_line, option, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from moot.api.protocol import MessageType, Pack, Packs, Role
    from moot.core.lifecycle import Edge

LARGEST = 64 << 10  # bytes of a brief before its facts are filled in
_HOLE = re.compile(r"\{\{([^{}\n]*)\}\}")
_ALONE = ("title", "pack", "does", "files", "messages", "moves", "states")
_ABOUT = {"fields": "message or event", "sample": "message or event", "file": "mirror"}
_KNOWN = (*_ALONE, *_ABOUT)


class RoleBrief(Record):
    """The brief of a role. `folder`: the folder of the repository that it comes from; empty if it is installed."""

    role: str
    pack: str
    title: str
    text: str
    folder: str = ""


def brief_of(packs: Packs, pack: Pack, role: Role) -> RoleBrief:
    """The brief of a role. Raises if its file has become unsound since the pack was loaded."""
    content = _standard() if not role.brief or packs.read is None else packs.read(pack, role.brief)
    types = [spec.name for spec in (*pack.messages, *pack.events)]
    wrong = list(problems([mirror.name for mirror in pack.mirrors], types, content))
    if wrong:
        from moot.api.protocol.checking import PackProblem, bad_pack

        raise bad_pack(f"The pack {pack.name}", [PackProblem(role.brief, line, "", text) for line, text in wrong])
    text = render(pack, role, content.decode("utf-8-sig").replace("\r\n", "\n"))
    return RoleBrief(role.name, pack.name, role.title or role.name, visible(text).strip(), pack.folder)


def _standard() -> bytes:
    with open(f"{__file__.removesuffix('briefs.py')}brief.md", "rb") as file:
        return file.read()


def render(pack: Pack, role: Role, text: str) -> str:
    """The text with its facts filled in. `problems` has found it sound."""
    facts = _Facts(pack, role)
    return _HOLE.sub(lambda hole: facts.fact(*hole[1].split()), text)


def problems(mirrors: Iterable[str], types: Iterable[str], content: bytes) -> Iterator[tuple[int, str]]:
    """The line and description of everything that is wrong in a brief of a pack with these mirrors and types."""
    if len(content) > LARGEST:
        yield 1, f"a brief can have {LARGEST:,} bytes; this one has {len(content):,}"
        return
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield content[: error.start].count(b"\n") + 1, "this is not UTF-8"
        return
    known = {"mirror": list(mirrors), "message or event": list(types)}
    for number, line in enumerate(text.split("\n"), 1):
        for hole in _HOLE.finditer(line):
            said = _wrong(hole[1].split(), known)
            if said:
                yield number, f"{hole[0]}: {said}"


def _wrong(words: list[str], names: Mapping[str, list[str]]) -> str:
    word, *rest = words or [""]
    if word not in _KNOWN:
        return _near(f"there is no fact {word!r}", word, _KNOWN)
    if word in _ALONE:
        return f"{word} stands alone" if rest else ""
    what = _ABOUT[word]
    if len(rest) != 1:
        return f"expected the name of one {what}, as in {{{{{word} NAME}}}}"
    return "" if rest[0] in names[what] else _near(f"there is no {what} {rest[0]!r}", rest[0], names[what])


def _near(said: str, word: str, known: Iterable[str]) -> str:
    known = list(known)
    near = closest(word, known)
    return f"{said}; did you mean {near}?" if near else f"{said}; known: {', '.join(known) or 'none'}"


class _Facts:
    """The facts about one role of a pack."""

    def __init__(self, pack: Pack, role: Role) -> None:
        self._pack, self._role = pack, role
        self._sent = [spec for spec in pack.messages if not spec.senders or role.name in spec.senders]

    def fact(self, word: str, name: str = "") -> str:
        made: Callable[..., str | Iterable[str]] = getattr(self, word)
        found = made(name) if name else made()
        return found if isinstance(found, str) else "\n".join(found)

    def title(self) -> str:
        return self._role.title or self._role.name

    def pack(self) -> str:
        return self._pack.name

    def does(self) -> str:
        return self._role.does

    def states(self) -> Iterator[str]:
        for life in self._pack.lifecycles:
            yield f"{', '.join(f'`{state}`' for state in life.names)}{self._of(life.name)}"

    def file(self, name: str) -> str:
        return next(mirror.path for mirror in self._pack.mirrors if mirror.name == name)

    def files(self) -> Iterator[str]:
        sent, none = {spec.name for spec in self._sent}, True
        for mirror in self._pack.mirrors:
            read = [self._word(name) for name in mirror.types if mirror.mailbox == f"@{self._role.name}"]
            written = [self._word(name) for name in mirror.types if name in sent]
            said = [f"you read `{name}` in it" for name in read] + [f"you add `{name}` to it" for name in written]
            if said or not mirror.types:
                none = False
                yield ": ".join(filter(None, (f"- `{mirror.path}`", ", ".join(said) or mirror.about)))
        if none:
            yield "None. You use moot alone."

    def messages(self) -> str:
        parts = [f"### `{spec.word}`\n\n{self._message(spec)}" for spec in self._sent]
        return "\n\n".join(parts) or "None."

    def fields(self, name: str) -> Iterable[str]:
        spec = self._spec(name)
        return sheet.fields(spec.schema, spec.order) or ["- any fields"]

    def sample(self, name: str) -> str:
        spec = self._spec(name)
        return json.dumps(sheet.sample(spec.schema, spec.order), indent=2, ensure_ascii=False)

    def moves(self) -> Iterator[str]:
        none = True
        for life in self._pack.lifecycles:
            for edge in life.edges:
                if self._role.name in edge.who:
                    none = False
                    yield f"- `{edge.source}` → `{edge.target}`{self._of(life.name)}: {self._how(edge)}"
        if none:
            yield "None."

    def _message(self, spec: MessageType) -> str:
        command = command_line("send", options=f"{option('--type', spec.name)} --data @message.json")
        stamp = f" (`{spec.stamp}` can be omitted there)" if spec.stamp else ""
        fields = "\n".join(self.fields(spec.name))
        form = f"As text: {' or '.join(f'`{text}`' for text in spec.text)}\n\n" if spec.text else ""
        return f"{form}{fields}\n\n```json\n{self.sample(spec.name)}\n```\n\nWith moot: `{command}`{stamp}"

    def _how(self, edge: Edge) -> str:
        carrying = [f"send `{spec.word}`" for spec in self._sent if spec.moves == edge.verb]
        reason = "--reason '…'" if "reason" in edge.needs else ""
        ways = carrying if "report" in edge.needs else [*carrying, f"`{by_verb(edge.verb, 'TASK', options=reason)}`"]
        again = "; it starts the next attempt" if edge.attempt else ""
        return f"{' or '.join(ways)}{' (a reason is required)' if reason else ''}{again}"

    def _spec(self, name: str) -> MessageType:
        return next(spec for spec in (*self._pack.messages, *self._pack.events) if spec.name == name)

    def _word(self, name: str) -> str:
        return self._spec(name).word

    def _of(self, lifecycle: str) -> str:
        """Which lifecycle it is, if the pack has several."""
        return f" ({lifecycle})" if len(self._pack.lifecycles) > 1 else ""
