"""Writes the files that are made from others: the reference of verbs, errors and lifecycles.

tools/generate.py            write them
tools/generate.py --check    say which ones are out of date, and fail
"""

from __future__ import annotations

import ast
import inspect
import json
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
from moot.core.record import shape_of  # noqa: E402
from moot.core.schema.keywords import KEYWORDS  # noqa: E402
from moot.surfaces.cli import man, reference  # noqa: E402
from moot.surfaces.cli.help import HEADINGS, manual_lines, own_lines  # noqa: E402
from moot.surfaces.python import Workspace  # noqa: E402

NOTE = "<!-- Made by tools/generate.py. Change what it is made from, then run `make generate`. -->\n"
CLASSES = """\
## Classes of verbs

Each verb has one; `moot help VERB` names it. What follows for permission rules is in
[let agents call moot, and not everything with it](../how-to/permit-agents.md).
"""
ERRORS = """\
# Error codes

A code never changes its meaning. Each error also says what is wrong and what to do instead.
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

Free events (`moot emit`): any `noun:participle` whose noun is none of those on this page, with any JSON object as
`data`. They stand in `topic/<noun>` or in the stream that was named.
"""
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
    for module, names in catalogue.MODULES.items():
        parts.append(f"## {HEADINGS[module]}\n")
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
    """Every code that the source raises, with its exit code and where it comes from."""
    found: dict[str, set[tuple[str, str]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS and node.args:
                first, where = node.args[0], path.relative_to(SOURCE).as_posix()
                for code in (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,):
                    if isinstance(code, ast.Constant) and isinstance(code.value, str):
                        found.setdefault(code.value, set()).add((KINDS[node.func.id], where))
    rows = [
        f"| `{code}` | {'; '.join(sorted({exit_code for exit_code, _ in places}))} "
        f"| {', '.join(sorted({f'`{where}`' for _, where in places}))} |"
        for code, places in sorted(found.items())
    ]
    return "\n".join([NOTE, ERRORS, "| code | exit code | raised in |", "|---|---|---|", *rows]) + "\n"


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
    parts = [NOTE, PYTHON]
    for name, member in inspect.getmembers(Workspace):
        if name.startswith("_") or not callable(member):
            continue
        signature = str(inspect.signature(member)).replace("self, ", "").replace("(self)", "()").replace("'", "")
        verb = next((v for v in catalogue.names() if v.replace(" ", "_").replace("-", "_") == name.rstrip("_")), None)
        said = (inspect.getdoc(member) or (catalogue.find(verb).summary if verb else "")).partition("\n\n")[0]
        said = said.replace("\n", " ")
        parts.append(f"**`{name}{signature}`**  \n{said}\n")
    return "\n".join(parts)


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
