"""Sends a message of a pack from a surface, and builds the answer for its sender."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.core.deciders.message import WANTS, known
from moot.core.errors import Refused, Unknown, Usage
from moot.core.json_codec import dumps
from moot.core.text import command_line, one_line, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import MessageType, Pack
    from moot.engine.unit_of_work import Work

_AROUND = 20  # characters of a text shown before and after a mismatch


def send(
    call: Call,
    spec: MessageType,
    to: tuple[str, ...],
    data: Any,
    text: str | None,
    thread: str | None,
    *,
    dry_run: bool,
    receipt: str | None = None,
) -> Answer:
    from moot.api.dry_run import dry_run as dry_run_of
    from moot.api.dry_run import warn_of_flags
    from moot.api.verbs.mail.send import stored

    if not isinstance(data, dict) or text is not None:
        raise Usage(
            "bad_json",
            f"A {spec.name} is a JSON object given by --data, without another text.",
            f"For example: {command_line('send', options=option('--type', spec.name))} --data @message.json",
        )
    if any(address not in spec.addresses for address in to):
        raise Refused(
            "wrong_mailbox",
            f"A {spec.name} goes to {', '.join(spec.addresses)} and nobody else.",
            "Leave the recipient out.",
            mailbox=", ".join(spec.addresses),
        )
    data, evidence, flags = {"type": spec.word, **data}, None, tuple[str, ...]()
    if receipt is not None:
        from moot.api.protocol.observed_results import taken_from_receipt

        data, evidence, flags = taken_from_receipt(call, spec, data, receipt)
    saying = call.packs.saying(call, spec, data).replace(evidence=evidence, flags=flags)

    def act(work: Work) -> None:
        sender = call.actor(work)
        root = known(work.message(thread)).thread if thread is not None else None
        call.packs.hear(work, saying.replace(sender=sender, thread=root))

    if dry_run:
        return dry_run_of(call, act)
    outcome = call.commit(act)
    if not outcome.events:
        return _there_already(call, spec, data, saying.roots)
    answer = stored(outcome, spec.name)
    warn_of_flags(call, answer.result.flags)
    return answer


def _there_already(call: Call, spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]) -> Answer:
    """The answer to a message that repeats an earlier one, and so changed nothing."""
    from moot.api.verbs.mail.send import StoredMessage
    from moot.views import queries

    def text(said: Mapping[str, Any]) -> str:
        plain = {k: v for k, v in said.items() if k != spec.stamp}
        return call.packs.same(spec, plain, roots)

    task = str(data.get(spec.task or ""))
    sent = queries.messages_of_task(call.engine.read(), task, kind=spec.name)
    found = next((m for m in reversed(sent) if text(m.data or {}) == text(data)), sent[-1])
    receipt = StoredMessage(id=found.id, thread=found.thread, to=found.to, position=found.position, repeated=True)
    return Answer(result=receipt, say=(f"{found.id} already says the same. Nothing changed.",))


def typed(specs: Sequence[MessageType], text: str) -> tuple[str, dict[str, Any]] | None:
    """See `Packs.typed`."""
    from moot.core.templates import form_of, read

    text = text.strip()
    forms = {form_of(text): spec for spec in specs for text in spec.text}
    found = read(list(forms), text)
    if isinstance(found, tuple):
        return forms[found[0]].name, found[1]
    if found is None:
        return None
    name, at = forms[found.form].name, found.position
    before, after = one_line(text[max(0, at - _AROUND) : at], 100), one_line(text[at : at + _AROUND], 100)
    raise Refused(
        "not_the_text_form",
        f"The text is nearly a {name}. At character {at + 1} (after {before!r}): expected {found.expected},"
        f" got {repr(after) if after else 'the end'}.",
        f"Write it as: {found.form.source}. For a plain note, begin with another word.",
        type=name,
        form=found.form.source,
        position=at,
        expected=found.expected,
    )


def unknown_type(packs: Sequence[Pack], kind: str) -> Unknown:
    typed = [spec.name for pack in packs for spec in pack.messages]
    known = ", ".join([*(k for k in WANTS if k != "reply"), *typed])
    pack, slash, _ = kind.partition("/")
    off = slash and pack not in (active.name for active in packs)
    hint = f"The pack {pack} is not active; moot.toml turns it on: packs = [{dumps(pack)}]. " if off else ""
    return Unknown(
        "unknown_type", f"{kind!r} is not a message type here.", f"{hint}Known: {known}.", known=known.split(", ")
    )
