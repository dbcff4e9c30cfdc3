"""People and agents paste what moot suggests: no id that somebody chose may act in a shell, or pass for an option.

A log may hold any id, from earlier versions or from protocols' files. So each hostile one is put into the log directly,
every verb is asked about it, and every command in every answer is read as a shell and then as moot would read it.
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import moot
from moot.api import catalogue
from moot.api.answer import plain
from moot.core import claims, task
from moot.core.deciders import artifact, checkpoint, decision, effect, held_entry, message, receipt
from moot.core.deciders.graph import Link
from moot.core.errors import MootError
from moot.core.principal import Actor
from moot.core.text import command_line, option, shell_word
from moot.surfaces.cli import parse
from tests.calls import open_call
from tests.surfaces.command import new_command
from tests.surfaces.town import Town, of_two

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.engine.unit_of_work import Work

HOSTILE = ("$(touch PWN)", "`touch PWN`", "a b", "-RF", "--agent=x", "x;touch PWN;'", '"$HOME"', "é…|&>PWN")
SUGGESTED = re.compile(
    r"`(moot [^`]*)`|(?:→|:|;|,|or|answer:|confirmation:) (moot [a-z].*?)(?=, or moot |, then moot | \(another|$)",
    re.MULTILINE,
)


def test_a_word_for_a_shell_is_one_word_there() -> None:
    for text in (*HOSTILE, "plain-1", "", "src/a.py", "'", "\\", "a\\nb", "!x", "~root", "{a,b}", "*", "person:anna"):
        word = shell_word(text)
        assert shlex.split(word) in ([text], ["ID"])
        assert ("`" in text) == (word == "ID" and text != "ID")
    for unseen in ("a\nb", "a\tb", "\x1b[2J", "a\u202eb", "\u3164"):
        assert shell_word(unseen) == "ID"
    assert command_line("task fail", "-rf", options="--reason '…'") == "moot task fail --reason '…' -- -rf"
    assert option("--task", "--agent=x") == "--task=--agent=x"


def plant(town: Town, odd: str) -> None:
    """Everything that can have an id has this one, or one that begins with it."""
    ada, bob = Actor(principal="Ada#1", roles=("reviewer",)), Actor(principal="Bob#1")
    hold = {"mode": "exclusive", "ttl": 900.0}

    def tasks(work: Work) -> None:
        for number in range(7):
            added = task.AddTask(title="T", creator="Ada#1", review=number != 6, ttl=900.0)
            work.do("task", f"{odd}{number or ''}", added)
        for number in (1, 2, 3, 5):
            work.do("task", f"{odd}{number}", task.MoveTask(verb="claim", actor=bob))
        work.do("task", f"{odd}2", task.MoveTask(verb="submit", actor=bob))
        work.do("graph", "", Link(task=f"{odd}4", needs=(f"{odd}3",)))
        work.do("task", f"{odd}4", task.BlockTask(on=(f"{odd}3",)))
        work.do("task", f"{odd}3", task.MoveTask(verb="fail", actor=bob, reason="No."))

    def things(work: Work) -> None:
        asks = message.SendMessage(
            kind="request", sender="Ada#1", to=("Bob",), wants="answer", size=2, limit=9, text="hi"
        )
        for number, to in ((0, "Bob"), (1, "person:anna"), (2, "Ada")):
            work.do("message", f"{odd}m{number}", asks.replace(to=(to,), within=0.0, task=odd))
        work.do(
            "entry", f"{odd}h", held_entry.HoldEntry(path="f", mirror="x", raw="{}", code="bad", reason="bad", task=odd)
        )
        work.do(
            "entry", f"{odd}q", held_entry.QuarantineFile(path="f", mirror="x", sha256="0" * 64, size=1, reason="torn")
        )
        work.do("claims", "", claims.ClaimFiles(id=f"{odd}c", holder="Bob#1", paths=("b.py",), task=odd, **hold))
        work.do("claims", "", claims.ClaimFiles(id=f"{odd}d", holder=f"person:{odd}", paths=("c.py",), **hold))

    def late(work: Work) -> None:
        work.do("artifact", odd, artifact.CreateArtifact(creator="Bob#1", paths=("b.py",), task=odd))
        made = decision.MakeDecision(maker="Bob#1", title="D", task=odd)
        for name in (odd, f"{odd}2"):
            work.do("decision", name, made)
        work.do("decision", odd, decision.SupersedeDecision(by=f"{odd}2", who="Bob#1"))
        asked = checkpoint.ReachCheckpoint(who="Bob#1", kind="question", question="?", options=(odd, "no"), task=odd)
        for name in (odd, f"{odd}2"):
            work.do("checkpoint", name, asked)
        shown = {"by": "Bob#1", "argv": ("true",), "code": 0, "seconds": 0.0, "digest": "0" * 64, "size": 0}
        work.do("receipt", odd, receipt.RecordReceipt(task=f"{odd}1", **shown))

    def effects(work: Work) -> None:
        for name in (odd, f"{odd}2"):
            work.do("effect", name, effect.RequestEffect(handler=odd, n=0, on="build:finished", stream="topic/build"))
        work.do("effect", odd, effect.TakeEffect(runner="r", now=1e12, ttl=9.0, limit=1))
        failed = effect.FailEffect(runner="r", attempt=1, reason="No.", limit=1, backoff=1.0, jitter=0.0, hopeless=True)
        work.do("effect", odd, failed)

    session = open_call(str(town.command.repo), town.command.environment, agent="Ada")
    try:
        for step in (tasks, things, late, effects):
            session.engine.commit("Ada#1", step)
    finally:
        session.engine.log.close()
        session.engine.store.close()
    assert ada.roles


def calls(odd: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every verb with the odd id wherever an id goes, complete and with something left out."""
    for name in sorted(
        catalogue.names(), key=lambda name: (name not in ("needs-me", "inbox"), catalogue.find(name).writes)
    ):
        verb = catalogue.find(name)
        if not verb.opens or name in ("watch", "handle", "backup", "export"):
            continue  # without ids, or of files
        for suffix in ("", "1", "2", "3", "4", "6", "m0", "m1", "m2", "h", "q", "c", "missing"):
            texts = {p.name: f"{odd}{suffix}" for p in verb.params if p.type in ("text", "words") and not p.choices}
            texts = {key: (value,) if _many(verb, key) else value for key, value in texts.items() if key != "key"}
            positional = {p.name for p in verb.params if p.positional or p.required}
            bare = {key: value for key, value in texts.items() if key in positional}
            more = [_some(texts, "reason", "answer", "text"), _some(texts, "task")]
            for given in (bare, *({**bare, **some} for some in more if some.keys() - bare.keys())):
                yield name, {**given, **({"timeout": 0.0} if _has(verb, "timeout") else {})}


def _many(verb: Any, key: str) -> bool:
    return any(p.many for p in verb.params if p.name == key)


def _has(verb: Any, key: str) -> bool:
    return any(p.name == key for p in verb.params)


def _some(texts: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: texts[name] for name in names if name in texts}


def said(town: Town, odd: str) -> Iterator[str]:
    """All that moot says to anybody about the odd id."""
    place, env = str(town.command.repo), town.command.environment
    sessions = [open_call(place, env, agent=who) for who in ("Ada", "Bob", None)]
    for name, given in calls(odd):
        for session in sessions:
            try:
                answer = session.run(name, given)
            except MootError as error:
                yield from (error.remedy, error.message)
            else:
                yield from answer.say
                yield from (warning.message for warning in answer.warnings)
                yield from commands_in(plain(answer.result))
    for session in sessions:
        session.engine.log.close()
        session.engine.store.close()


def commands_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"→ {item}" for key, item in value.items() if key == "command" and isinstance(item, str))
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from commands_in(item)


def suggested(text: str) -> list[str]:
    return [one or other for one, other in SUGGESTED.findall(text)]


def values(line: str) -> list[str]:
    """What moot would understand, given what a shell makes of the line."""
    words = shlex.split(line)
    assert words[0] == "moot", line
    call = parse.understand([word for word in words[1:] if not word.startswith("@")])
    assert call.agent in (None, "Ada", "Bob"), line  # the caller, and never an id
    verb = catalogue.find(str(call.verb))
    words = [word for word in call.words if word not in ("--data", "blocks.")]
    found = parse.arguments(verb, words).values()
    return [item for value in found for item in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("odd", HOSTILE[:5])
def test_no_suggested_command_lets_an_id_act(tmp_path: Path, odd: str) -> None:
    command = new_command(tmp_path)
    command.environment["MOOT_PERSON"] = "1"
    town = of_two(command)
    plant(town, odd)
    lines = {line for text in said(town, odd) for line in suggested(text)}
    about = sorted(line for line in lines if odd in line or (len(odd) > 3 and odd[1:-1] in line))
    shown = sorted(line for line in lines if " ID" in line)
    assert len(shown if "`" in odd else about) > 6, lines
    for line in about:
        assert any(str(value).startswith(odd) for value in values(line)), line
    script = "moot() { :; }\n" + "\n".join(sorted(lines))
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=False, timeout=60, capture_output=True)
    assert not [path for path in tmp_path.rglob("*") if path.name == "PWN"]


# Placeholders in an f-string that says `moot …` and may stand there as they are: no words that others chose.
SAFE = {
    "near", "verb", "verb.name", "position", "version",
    "_wider(limit, result.more_settled, room, size)",
    "_wider(limit, result.more_new, room[0], room[1])", "_wider(limit, result.more_waiting, room[0], room[2])",
    "sys.modules['moot'].__version__", "alias", "shlex.join(words)", "name", "typed", "command",
    "item.evidence", "key", "path", "pack",
}  # fmt: skip
NAMES = {  # safe only there
    "name": "cli/help.py",
    "alias": "cli/help.py",
    "typed": "cli/help.py",
    "command": "cli/suggestions.py",  # from its own table
    "shlex.join(words)": "testing/rehearsal.py",
    # sentences about moot that are no commands
    "item.evidence": "api/message_view.py",
    "key": "forms/board.py",
    "path": "runs/drivers.py",
    "pack": "testing/pack_verbs.py",
}


def test_nothing_is_put_into_a_suggested_command_as_it_is() -> None:
    """What others chose goes into a command by `command_line`, `option` or `shell_word` and in no other way."""
    sources = Path(moot.__file__).parent
    found = []
    for path in sorted(sources.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                found += [f"{path.relative_to(sources)}: {text}" for text in bare_placeholders(node, str(path))]
    assert found == []


def bare_placeholders(node: ast.JoinedStr, path: str) -> Iterator[str]:
    before = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            before += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            text = ast.unparse(part.value)
            inside = re.search(r"`(moot|--[a-z])[^`]*$", _outside(before)) or re.search(r"\bmoot [a-z -]*$", before)
            known = text in SAFE and path.endswith(NAMES.get(text, ""))
            quoted = text.startswith(("command_line(", "option(", "shell_word("))
            if inside and not known and not quoted:
                yield text
            before += "{}"


def _outside(text: str) -> str:
    """From the last back-tick that opens something."""
    parts = text.split("`")
    return f"`{parts[-1]}" if len(parts) % 2 == 0 else ""


def test_the_look_at_the_sources_sees_what_it_should() -> None:
    def look(source: str) -> list[str]:
        (node,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)]
        return list(bare_placeholders(node, "x.py"))

    assert look("f'Say: `moot task show {task.id}`.'") == ["task.id"]
    assert look("f'wants an answer: moot reply {item.id} …'") == ["item.id"]
    assert look("f'join with `--role {role}`'") == ["role"]
    assert look("f'`moot ready` lists {count}'") == []
    assert look("f'`{command_line(\"x\", y)}` and {z}'") == []


def test_no_remedy_installs_moot_from_an_index_that_does_not_have_it() -> None:
    sources = Path(moot.__file__).parent
    found = [path.name for path in sources.rglob("*.py") if re.search(r"pip install '?moot\b", path.read_text())]
    assert found == []
