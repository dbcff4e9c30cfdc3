"""The Ruby text of a skeleton: describe blocks with contexts, examples and placeholders, for both packs.

    {CONDITION}             what a context is about, where the code has no words for it
    {BEHAVIOR_DESCRIPTION}  what an example says, where the code does not say it
    {SETUP_CODE}            in a comment of every context, with the value that it stands for
    {EXPECTATION}           the reason of `skip` in every example, so that RSpec reports it as pending

The text parses as Ruby as it is. Agents replace the placeholders.
"""

from __future__ import annotations

from moot.packs.rspec.conditions import CONDITION
from moot.packs.ruby.literals import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from moot.packs.rspec.contexts import Context

WORD, BEHAVIOUR, SETUP, EXPECTATION = "{CONTEXT_WORD}", "{BEHAVIOR_DESCRIPTION}", "{SETUP_CODE}", "{EXPECTATION}"
WORDING = (WORD, CONDITION, BEHAVIOUR)  # to be replaced before the code is written
PLACEHOLDERS = (SETUP, EXPECTATION)
_STEP = "  "


def whole_file(class_name: str, blocks: Iterable[str], helper: str = "") -> str:
    """A new spec file. `helper`: the file that it requires first."""
    required = f'require "{helper}"\n\n' if helper else ""
    return f"# frozen_string_literal: true\n\n{required}{group(class_name, blocks)}"


def group(class_name: str, blocks: Iterable[str]) -> str:
    """The group of a class. The first line of each block is not indented yet."""
    inside = "\n\n".join(f"{_STEP}{block}" for block in blocks)
    return f"RSpec.describe {constant(class_name)} do\n{inside}\nend\n"


def constant(name: str) -> str:
    """The name of a class as Ruby code: a constant, or a string if it is not one."""
    parts = name.removeprefix("::").split("::")
    valid = all(part.isidentifier() and part[0].isupper() for part in parts)
    return name if valid else quoted(name)


def describe_block(
    name: str,
    contexts: Iterable[Context],
    indent: str = _STEP,
    head: Iterable[str] = (),
    todo: Mapping[str, str] | None = None,
) -> str:
    """The block of one method. The first line is not indented: it takes the place of another block.

    `head`: lines before the contexts. `todo`: comments for the agents (word, setup, behaviour, expectation); with them,
    the word of a leaf is left to an agent.
    """
    lines = [*head, *_joined(contexts, todo or {})]
    inside = "\n".join(f"{indent}{_STEP}{line}" if line else "" for line in lines)
    return f"describe {quoted(name)} do\n{inside}\n{indent}end"


def _joined(contexts: Iterable[Context], todo: Mapping[str, str]) -> Iterator[str]:
    for number, context in enumerate(contexts):
        if number:
            yield ""
        yield from _context(context, todo)


def _context(context: Context, todo: Mapping[str, str]) -> Iterator[str]:
    name = context.name
    if todo and not context.children:
        yield todo["word"].replace("{word}", context.word)
        name = f"{WORD} {context.text}"
    yield f"context {quoted(name)} do"
    state = "".join(char if char.isprintable() else " " for char in context.state)  # a line break ends a comment
    if todo:
        yield f"{_STEP}{todo['setup']}"
    yield f"{_STEP}# {SETUP} {state}".rstrip()
    yield ""
    yield from (f"{_STEP}{line}" if line else "" for line in _joined(context.children, todo))
    for number, example in enumerate(context.examples):
        if number:
            yield ""
        yield from (f"{_STEP}{line}" for line in example_lines(example, todo))
    yield "end"


def example_lines(text: str, todo: Mapping[str, str]) -> Iterator[str]:
    if todo:
        yield todo["behaviour"]
    yield f"it {quoted(text)} do"
    if todo:
        yield f"{_STEP}{todo['expectation']}"
    yield f'{_STEP}skip "{EXPECTATION}"'
    yield "end"
