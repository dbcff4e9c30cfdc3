"""The mechanical part of the language rules 17 to 20: words of contexts and examples.

Whether a sentence is good English, and clear to anyone, needs a reader. What is checked here needs none.
"""

from __future__ import annotations

from moot.packs.rspec_v1.context_tree import contexts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.packs.ruby.spec_tree import Example, Group

WORDS = ("when", "with", "and", "but", "without")
_NEGATIVE = ("but", "without")
_FORBIDDEN = ("should", "can", "must")
_CLAUSES = ("when", "if")
_PLACEHOLDER = "{"


def first_word(text: str | None) -> str:
    return (text or "").split(" ", 1)[0]


def is_negative(text: str | None) -> bool:
    """Whether a context is about the case that is not the successful one."""
    words = (text or "").split()
    return bool(words) and (words[0] in _NEGATIVE or "NOT" in words)


def context_problems(group: Group, *, root: bool) -> Iterator[str]:
    """What is wrong with the text of a context."""
    word = first_word(group.text)
    if group.text is None:
        yield "the text of this context is not a plain string"
    elif word.startswith(_PLACEHOLDER):
        return
    elif word not in WORDS:
        yield f"{_quoted(group.text)} begins with none of {', '.join(WORDS)}"
    elif root and word != "when":
        yield f"{_quoted(group.text)} is an outermost context, and must begin with `when`"
    if group.text is not None and (negation := _negation(group.text)):
        yield f"{_quoted(group.text)} has the negation `{negation}`, which is written `NOT`"


def example_problems(example: Example) -> Iterator[str]:
    """What is wrong with the text of an example."""
    if not (example.text or "").strip():
        yield "this example has no description" if example.text is not None else "this example has no plain description"
        return
    text = example.text or ""
    words = [word.strip(".,;:!?()\"'`") for word in text.split()]
    yield from (f"{_quoted(text)} contains `{word}`" for word in _FORBIDDEN if word in _lower(words))
    yield from (f"{_quoted(text)} has a `{word}` clause" for word in _CLAUSES if word in _lower(words))
    if negation := _negation(text):
        yield f"{_quoted(text)} has the negation `{negation}`, which is written `NOT`"


def order_problems(group: Group) -> Iterator[tuple[int, str]]:
    """Positive contexts of this group that stand after a negative one."""
    negative = None
    for one in contexts_of(group):
        if is_negative(one.text):
            negative = negative or one
        elif negative is not None:
            yield (
                one.line,
                f"{_quoted(one.text or '')} stands after {_quoted(negative.text or '')} (line {negative.line})",
            )


def _negation(text: str) -> str:
    words = [word.strip(".,;:!?()\"'`") for word in text.split()]
    return next((word for word in words if word in ("not", "Not", "cannot") or word.lower().endswith("n't")), "")


def _lower(words: list[str]) -> list[str]:
    return [word.lower() for word in words]


def _quoted(text: str) -> str:
    return f"'{text[:80]}'"
