"""Writes the files that are made from others: the reference of verbs, errors and lifecycles.

tools/generate.py            write them
tools/generate.py --check    say which ones are out of date, and fail
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "moot"
REFERENCE = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT / "src"))

from moot.api import catalogue  # noqa: E402
from moot.api.protocol.grammar import SCHEMA  # noqa: E402
from moot.api.protocol.loading import pack_of  # noqa: E402
from moot.core.kind import kinds  # noqa: E402
from moot.core.lifecycle import CORE  # noqa: E402
from moot.core.record import Record, shape_of  # noqa: E402
from moot.core.schema.keywords import KEYWORDS  # noqa: E402
from moot.surfaces.cli import contents, man, reference  # noqa: E402
from moot.surfaces.cli.help import manual_lines, own_lines  # noqa: E402
from moot.surfaces.python import Workspace  # noqa: E402

NOTE = "<!-- Made by tools/generate.py. Change what it is made from, then run `make generate`. -->\n"
CLASSES = """\
## Classes of verbs

Each verb has one; `moot help VERB` names it. What follows for permission rules is in
[let agents call moot, and not everything with it](../how-to/permit-agents.md).
"""
ERRORS = """\
# Error codes

A code never changes its meaning. An error prints what is wrong, `→` what to do instead, and its code in brackets.
With `--json` it is an object with `error` (the code), `kind`, `message`, `remedy` and `details`. In Python it is raised
with the attributes `code`, `message`, `remedy` and `details`. Below, `…` stands for what the error fills in.
"""
EVENT = """\
# Events

What the log holds. `moot log --json` shows each with its envelope: `position` (gap-free, per workspace), `type`, `v`,
`stream`, `prev` (the stream's event before), `at` (for people; never used to decide), `by`, `data`, `thread`, `pack`,
`commit` and `n` (the event's id is `<commit>.<n>`). A field at its default is left out of `data`. Fields are only ever
added; a change of meaning raises `v`.
"""
FREE = """\
## Streams of kind `topic`

Custom events (`moot emit`): any `noun:participle` whose noun is none of those on this page, with any JSON object as
`data`. They stand in `topic/<noun>` or in the stream that was named.
"""
RECORDS = """\
## Records

What the methods return. A record is immutable; `record.replace(field=…)` makes a changed copy, `record.plain()` gives
JSON-ready data without the fields at their defaults, `record.full()` with them.
"""
# The codes whose texts are put together at run time: what they mean, and what to do.
COMPOSED = {
    "agent_gone": ("The agent has left or was retired.", ""),
    "bad_pack": ("The pack has defects; the error lists all of them with file, line and key.", ""),
    "bad_settings": ("moot.toml has defects; the error names file, line and key.", ""),
    "files_claimed": ("A commit or push changes files that others have claimed; the error lists them.", ""),
    "no_backup": ("The file is not an intact backup.", ""),
    "no_current_task": ("The caller has no task, or more than one.", ""),
    "not_sound": ("`moot verify` found problems; the error lists them.", ""),
    "path_malformed": (
        "A path is empty or too long, or has a backslash or a control character.",
        "Write it from the root of the repository, with `/` between names.",
    ),
    "pattern_malformed": (
        "A path or glob is malformed; the error says where.",
        "Write the glob as the error shows it.",
    ),
    "pattern_too_complex": (
        "A glob is too long, or has too many segments, wildcards or characters in a class.",
        "Use a wider and simpler pattern, or several.",
    ),
    "quarantine_unreadable": ("", "Do what the error says about the file."),
    "task_ended": ("The task has ended.", ""),
    "task_stopped": ("The awaited task ended without success.", ""),
    "unhealthy": ("", "Do what the error says about each check."),
    "unknown_verb": ("There is no such verb.", "Run what the error suggests. `moot help --all` lists the verbs."),
    "unreadable_file": (
        "The file that an argument names is missing, or is not a text file.",
        "Name a text file in UTF-8. For a text that begins with @, write @@ instead of @.",
    ),
    "who_are_you": ("", "Pass --agent NAME, or --person, or set MOOT_AGENT as `moot join` prints it."),
}
PYTHON = """\
# Python

```python
from moot import Workspace
```

A `Workspace` has the verbs of the command line as methods, with the same names and defaults. What they return are
frozen records; what goes wrong is raised as one of the errors in `moot.core.errors`. Several threads may use one
workspace at once: each method is a call of its own, and `warnings` are those of the last call in the same thread.
"""
KINDS = {
    "Refused": "1, refused",
    "Usage": "2, usage",
    "Held": "3, held by another or lost race",
    "Unknown": "4, unknown",
    "TimedOut": "5, timeout",
    "AwaitedFailed": "6, the awaited thing failed",
    "Unavailable": "7, unavailable",
}


def verbs() -> str:
    parts = [NOTE, "# The command line\n", "`moot help VERB` says the same, and `man docs/reference/moot.1`.\n"]
    sections = (
        ("Options of every verb", reference.OPTIONS),
        ("Exit codes", reference.EXIT_CODES),
        ("Environment", reference.ENVIRONMENT),
        ("Files", reference.FILES),
    )
    for title, pairs in sections:
        parts.append(f"## {title}\n\n| | |\n|---|---|")
        parts += [f"| `{name}` | {said} |" for name, said in pairs]
        parts.append("")
    parts.append(classes())
    for heading, names in contents.sections().items():
        parts.append(f"## {heading}\n")
        for name in names:
            verb = catalogue.find(name)
            parts.append(f"### moot {name}\n\n```text\n" + "\n".join(manual_lines(verb)) + "\n```\n")
    parts.append("## Command line only\n")
    for own in reference.OWN:
        parts.append(f"### moot {own.name}\n\n```text\n" + "\n".join(own_lines(own)) + "\n```\n")
    return "\n".join(parts)


def classes() -> str:
    """The classes of verbs, each with what it can do and the verbs that have it."""
    rows = []
    for kind, said in catalogue.KINDS.items():
        names = [f"`{name}`" for name in catalogue.names() if catalogue.find(name).kind == kind]
        names += [f"`{own.name}`" for own in reference.OWN if own.kind == kind]
        names += _for_people() if kind == "person" else []
        rows.append(f"| {kind} | {said} | {', '.join(names)} |")
    return "\n".join([CLASSES, "| class | what a call can do | verbs |", "|---|---|---|", *rows, ""])


def _for_people() -> list[str]:
    """Arguments that make a call a person's."""
    verbs = [catalogue.find(name) for name in catalogue.names()]
    return [f"`{verb.name} --{param.name}`" for verb in verbs for param in verb.params if param.person]


def errors() -> str:
    """Every code that the source raises: its exit code, what it says, and what it advises."""
    exits: dict[str, set[str]] = {}
    texts: dict[str, list[list[str]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS and node.args:
                first, *rest = node.args
                for code in (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,):
                    if isinstance(code, ast.Constant) and isinstance(code.value, str):
                        exits.setdefault(code.value, set()).add(KINDS[node.func.id])
                        texts.setdefault(code.value, []).append([_template(text, tree) for text in rest[:2]])
    columns = [
        (f"`{code}`", "; ".join(sorted(exits[code])), _texts(code, texts[code], 0), _texts(code, texts[code], 1))
        for code in sorted(exits)
    ]
    rows = [f"| {' | '.join(row)} |" for row in columns]
    return "\n".join([NOTE, ERRORS, "| code | exit code | meaning | what to do |", "|---|---|---|---|", *rows]) + "\n"


def _texts(code: str, raised: list[list[str]], column: int) -> str:
    """What an error says (column 0) or advises (1). Where a code is raised with several texts, the first two."""
    composed = COMPOSED.get(code, ("", ""))[column]
    found = [said[column] for said in raised if len(said) > column and any(map(str.isalpha, said[column]))]
    if not composed and not found:
        raise SystemExit(f"tools/generate.py: COMPOSED has to say what {code} means and what to do")
    return composed or "<br>".join(list(dict.fromkeys(found))[:2])


def _template(node: ast.expr, tree: ast.Module) -> str:
    """A text in the source, with … in place of what is filled in. A variable's text is its last one before `node`."""
    match node:
        case ast.Constant(value=str(text)):
            found = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
        case ast.JoinedStr(values=parts):
            found = "".join(_template(part, tree) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(left=left, right=right):
            found = _template(left, tree) + _template(right, tree)
        case ast.IfExp(body=body):
            found = _template(body, tree)
        case ast.Name(id=name):
            values = [
                one.value
                for one in ast.walk(tree)
                if isinstance(one, ast.Assign)
                and one.lineno < node.lineno
                and isinstance(one.targets[0], ast.Name)
                and one.targets[0].id == name
            ]
            last = max(values, key=lambda value: value.lineno, default=None)
            found = "…" if last is None else _template(last, tree)
        case _:
            found = "…"
    return found


def lifecycles() -> str:
    with (SOURCE / "packs" / "orchestrator" / "pack.toml").open("rb") as file:
        data = tomllib.load(file)
    data.pop("limits", None)
    pack = pack_of(data, {m["schema"]: {} for m in data["messages"].values()})
    parts = [NOTE, "# Lifecycles of tasks\n"]
    for life in (CORE, *pack.lifecycles):
        parts.append(f"## {life.name}\n")
        parts.append("```mermaid\nstateDiagram-v2\n    [*] --> " + life.initial)
        parts += [f"    {e.source} --> {e.target}: {e.verb}" for e in life.edges]
        parts.append("```\n")
        parts.append("| from | verb | to | who | needs | attempt |\n|---|---|---|---|---|---|")
        parts += [
            f"| {e.source} | {e.verb} | {e.target} | {', '.join(e.who)} | {', '.join(e.needs)} | "
            f"{f'+{e.attempt}' if e.attempt else ''} |"
            for e in life.edges
        ]
        end = f"the task goes to `{life.exhausted}`" if life.exhausted else "a person must override to go back"
        parts.append(f"\nA silent holder: `{life.silence}`. Attempts: {life.attempts}; after them {end}.\n")
    return "\n".join(parts)


def events() -> str:
    parts = [NOTE, EVENT]
    for kind in sorted(kinds(), key=lambda kind: kind.name):
        if kind.name == "topic":
            parts.append(FREE)
            continue
        parts.append(f"## Streams of kind `{kind.name}`\n\n| type | fields of `data` |\n|---|---|")
        parts += [
            f"| `{name}` | {', '.join(f'`{field}`' for field in shape_of(cls)[0])} |"
            for name, cls in kind.events.items()
        ]
        parts.append("")
    return "\n".join(parts)


def python() -> str:
    opened = _signature(Workspace).removesuffix(" -> None")
    about = (inspect.getdoc(Workspace) or "").replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")
    parts = [NOTE, PYTHON, f"## Opening\n\n**`Workspace{opened}`**\n\n{about}\n", "## Methods\n"]
    returned: dict[str, Any] = {}
    for name, member in inspect.getmembers(Workspace):
        if name.startswith("_") or not callable(member):
            continue
        signature = _signature(member)
        verb = next((v for v in catalogue.names() if v.replace(" ", "_").replace("-", "_") == name.rstrip("_")), None)
        said = (inspect.getdoc(member) or (catalogue.find(verb).summary if verb else "")).partition("\n\n")[0]
        said = said.replace("\n", " ")
        parts.append(f"**`{name}{signature}`**  \n{said}\n")
        _collect(str(member.__annotations__.get("return", "")), sys.modules[member.__module__], returned)
    parts.append(RECORDS)
    for name in sorted(returned):
        record = returned[name]
        fields = [f"`{field}: {kind}`" for field, kind in _fields(record).items()]
        said = " ".join((record.__doc__ or "").partition("\n\n")[0].split())
        parts.append(f"**`{name}`**{': ' if said else ''}{said}  \n{', '.join(fields)}\n")
    return "\n".join(parts)


def _signature(member: Any) -> str:
    """The signature without `self`, its types without quotes."""
    text = str(inspect.signature(member)).replace("self, ", "").replace("(self)", "()")
    return re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", text)


def _fields(record: Any) -> dict[str, str]:
    """The fields of a record and their types, its bases' first."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        found |= {n: t for n, t in base.__dict__.get("__annotations__", {}).items() if not t.startswith("ClassVar")}
    return found


def _collect(annotation: str, module: Any, found: dict[str, Any]) -> None:
    """Add the records that an annotation names, and those that their fields name."""
    for name in re.findall(r"\b[A-Z]\w+", annotation):
        record = _named(name, module)
        if isinstance(record, type) and issubclass(record, Record) and record.__name__ not in found:
            found[record.__name__] = record
            for kind in _fields(record).values():
                _collect(kind, sys.modules[record.__module__], found)


def _named(name: str, module: Any) -> Any:
    """What a name in an annotation of a module means, even if the module imports it for type checkers only."""
    if hasattr(module, name):
        return getattr(module, name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("moot."):
            for alias in node.names:
                if name in (alias.name, alias.asname):
                    return getattr(importlib.import_module(node.module), alias.name)
    return None


PACK = """\
# pack.toml

A pack is a folder with a `pack.toml`, and the JSON Schemas that it names. [How to write one](../how-to/write-a-pack.md)
goes through an example. Editors can check the file with [pack.schema.json](pack.schema.json).

Every key that is not listed here is refused. moot reports all problems of a pack at once, each with file, line and key.

- Names of packs, types, verbs, states and settings are words in small letters, with digits, `-` and `_`.
- Two active packs cannot have the same role, type, event or file. A type may be written `pack/type` everywhere; a pack
  that declares it so leaves the short name to another.
- Schemas of messages use these keywords of JSON Schema 2020-12, and no others: {keywords}.
- Paths are relative, with forward slashes, and stay inside: of the pack's folder (schemas) or the worktree (mirrors).
- In `order`, a dotted key names a field inside of an object.
- A task begins in the first state. Every pair of state and verb without an edge is refused.
"""


def pack_reference() -> str:
    tables = {"": SCHEMA, **{f"{name}": part for name, part in SCHEMA["$defs"].items() if "properties" in part}}
    titles = {
        "": "The file",
        "role": "[roles.NAME]",
        "message": "[messages.NAME]",
        "event": '[events."noun:participle"]',
        "mirror": "[mirrors.NAME]",
        "lifecycle": "[lifecycle], [lifecycles.NAME]",
        "state": "states of a lifecycle",
        "edge": "[[lifecycle.edges]]",
    }
    parts = [NOTE, PACK.replace("{keywords}", ", ".join(f"`{word}`" for word in KEYWORDS))]
    for name, table in tables.items():
        parts.append(f"## {titles[name]}\n\n| key | value | |\n|---|---|---|")
        for key, schema in table["properties"].items():
            need = " (required)" if key in table.get("required", ()) else ""
            parts.append(f"| `{key}`{need} | {_kind_of(schema)} | {schema.get('description', '')} |")
            parts += [
                f"| `{key}.{inner}` | {_kind_of(part)} | {part.get('description', '')} |"
                for inner, part in schema.get("properties", {}).items()
            ]
        parts.append("")
    return "\n".join(parts)


def _kind_of(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "anyOf" in schema:
        return "text, or a list of texts"
    if "$ref" in schema or "additionalProperties" in schema:
        return "table"
    kind = schema.get("type", "")
    words = {"string": "text", "array": "list", "object": "table", "boolean": "true or false", "integer": "number"}
    return " or ".join(words[one] for one in ([kind] if isinstance(kind, str) else kind))


def pack_schema() -> str:
    return json.dumps(SCHEMA, indent=2) + "\n"


FILES = {
    "cli.md": verbs,
    "errors.md": errors,
    "events.md": events,
    "lifecycles.md": lifecycles,
    "moot.1": man.page,
    "pack.md": pack_reference,
    "pack.schema.json": pack_schema,
    "python.md": python,
}


def main() -> int:
    stale = []
    for name, make in FILES.items():
        path, content = REFERENCE / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        stale.append(f"docs/reference/{name}")
        if "--check" not in sys.argv:
            path.write_text(content, encoding="utf-8")
    for name in stale:
        sys.stdout.write(f"{name} {'is out of date: run make generate' if '--check' in sys.argv else 'written'}\n")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
