"""Untrusted text made safe for display: it cannot control a terminal, hide content, or imitate moot's own output.

For display only. Stored data and JSON output are never changed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ELLIPSIS = "…"
PLACEHOLDER = "…"
REASON = f"--reason '{PLACEHOLDER}'"  # in a suggested command; pasted as it is, it is refused

# Characters that control the display or are invisible, as (first, last).
_UNSEEN = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F),  # control characters but for tab and newline
    (0xAD, 0xAD), (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),  # drawn as nothing
    (0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFE00, 0xFE0D), (0x1D173, 0x1D17A),
    (0x61C, 0x61C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x206F),  # change the direction of what follows
    (0x200B, 0x200B), (0x2060, 0x2065), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFFB),  # zero width
    (0x2028, 0x2029),  # line breaks that most programs do not show
    (0xD800, 0xDFFF),  # lone surrogates, which cannot be encoded
    (0xE0000, 0xE0FFF),  # tags and selectors that can hide a whole text
)  # fmt: skip
_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))  # each with the next smaller one
_FEW = 10  # from here on, a second unit adds nothing
_JOINERS = "\u200c\u200d"


def visible(text: str) -> str:
    r"""The text with control and invisible characters written as escapes: ESC becomes `\x1b`.

    Newlines and tabs stay, CRLF counts as a newline. The two joiners stay between non-ASCII characters,
    where scripts and emoji need them.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    odd = {char for char in set(text) if not " " <= char <= "~" and _acts_or_hides(ord(char))}
    shown = text.translate({ord(char): ascii(char)[1:-1] for char in odd}) if odd else text
    return _without_idle_joiners(shown) if any(joiner in shown for joiner in _JOINERS) else shown


def unbroken(text: str) -> str:
    r"""The text with its line breaks written as escapes, so that a name in it cannot begin a line: `\n`."""
    breaks = {char for char in set(text) if char.isspace() and char != " " and not char.isprintable()}
    return text.translate({ord(char): ascii(char)[1:-1] for char in breaks}) if breaks else text


def one_line(text: str, width: int) -> str:
    """The text on one line of at most `width` terminal cells; what is cut is marked by an ellipsis."""
    if width < 1:
        return ""
    enough = 8 * width + 64
    line = " ".join(visible(text[:enough]).split())
    if len(text) <= enough and cells(line) <= width:
        return line
    return cut(line, width - 1).rstrip() + ELLIPSIS


def age(seconds: float) -> str:
    """A duration as people write it: `45s`, `1m30s`, `12m`, `3h`, `2d`. Small numbers have a second unit."""
    left = max(int(seconds), 0)
    for size, unit, smaller, second in _UNITS:
        if left >= size:
            whole, rest = divmod(left, size)
            rest //= smaller
            return f"{whole}{unit}{rest}{second}" if rest and whole < _FEW else f"{whole}{unit}"
    return f"{left}s"


def cut(line: str, width: int) -> str:
    """As much of the line as fits into `width` terminal cells."""
    if line.isascii():
        return line[: max(width, 0)]
    kept, room = 0, width
    for char in line:
        room -= cells(char)
        if room < 0:
            break
        kept += 1
    return line[:kept]


def closest(word: str, known: Iterable[str]) -> str | None:
    """The closest known word, if one is similar enough. Case does not matter."""
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    wanted = word[:100].casefold()
    if wanted in folded:
        return folded[wanted]
    near = get_close_matches(wanted, folded, n=1)
    return folded[near[0]] if near else None


def command_line(verb: str, *words: str, options: str = "") -> str:
    """A command that can be pasted into a shell: each word stays one word, and none is read as an option.

    `options` is moot's own text, with values from others in it only by `option`.
    """
    said = " ".join(map(shell_word, words))
    if any(word.startswith("-") for word in words):
        return " ".join(filter(None, ("moot", verb, options, "--", said)))
    return " ".join(filter(None, ("moot", verb, said, options)))


def from_agent(command: str, name: str) -> str:
    """The same command, with the name of the agent that runs it. The verb stays first, as permission rules need it."""
    if " -- " not in command:
        return f"{command} {option('--agent', name)}"
    words = command.split(" ")
    verb = next(at for at, word in enumerate(words) if not (word.isascii() and word.islower()) or word[0] == "-")
    return " ".join((*words[: min(verb, 3)], option("--agent", name), *words[min(verb, 3) :]))


def option(flag: str, value: str) -> str:
    """An option with its value, for a command that can be pasted into a shell."""
    return f"{flag}{'=' if value.startswith('-') else ' '}{shell_word(value)}"


def shell_word(text: str, instead: str = "ID") -> str:
    """The text quoted as one word for a shell. `instead` replaces a text that cannot be shown safely."""
    if text.isascii() and text and all(letter.isalnum() or letter in "-_./:@" for letter in text):
        return text
    if "`" in text or "\n" in text or "\t" in text or visible(text) != text:
        return instead
    from shlex import quote

    return quote(text)


def counted(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def first_few(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def bullets(texts: Sequence[str], most: int = 20, width: int = 500) -> list[str]:
    """Each text on a line of its own, indented and marked, so that it can be told from the next if it wraps."""
    more = [f"  - and {len(texts) - most} more"] if len(texts) > most else []
    return [*(f"  - {one_line(text, width)}" for text in texts[:most]), *more]


def fence(text: str) -> str:
    """Untrusted text for an agent to read. Every line starts with `>`, so the text cannot fake its own end."""
    return "\n".join(f"> {line}" if line else ">" for line in visible(text).split("\n"))


def _acts_or_hides(code: int) -> bool:
    return any(first <= code <= last for first, last in _UNSEEN)


def _without_idle_joiners(text: str) -> str:
    padded = f" {text} "
    return "".join(
        ascii(char)[1:-1] if char in _JOINERS and not (_joinable(before) and _joinable(after)) else char
        for before, char, after in zip(padded, text, padded[2:], strict=False)
    )


def _joinable(char: str) -> bool:
    return not char.isascii() and char not in _JOINERS


def cells(text: str) -> int:
    """How many terminal cells the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(char) in ("Mn", "Me", "Cf") else 2 if east_asian_width(char) in ("W", "F") else 1 for char in text
    )
