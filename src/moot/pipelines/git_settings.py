"""Which settings of git are harmless: those that git itself writes, and that make it run no program.

Anything else may run one: git has many such settings, and gets new ones. Pure: gets the contents of a file.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CORE = (
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
)
_SCHEMES = ("https", "http", "ssh", "git", "file")


def unsafe_settings(old: bytes, new: bytes) -> list[str]:
    """The names of the settings that were added or changed and are not known to be harmless."""
    from collections import Counter

    added = Counter(_settings(new)) - Counter(_settings(old))
    return sorted({_name(section, line) for section, line in added if not _is_harmless(section, line)})


def _settings(data: bytes) -> Iterator[tuple[str, str]]:
    """Each setting as its section and its text. What git reads as one setting is never split here."""
    section, text = "", ""
    for raw in data.decode("utf-8", "surrogateescape").split("\n"):
        line = raw.removesuffix("\r")
        text = f"{text}\n{line}" if text else line.strip(" \t\r")
        if text.startswith(("#", ";")):
            text = ""
        if line.endswith("\\") and text:
            continue  # git reads the next line as a part of it, unless this one ends with a comment
        if text.startswith("["):
            section, _, text = text.partition("]")
            section, text = section[1:], text.strip(" \t\r")
        if text and not text.startswith(("#", ";")):
            yield section, text
        text = ""


def _name(section: str, text: str) -> str:
    kind, _, sub = section.partition(" ")
    return ".".join(filter(None, (kind.strip(), sub.strip(' "'), text.partition("=")[0].strip()[:80])))


def _is_harmless(section: str, text: str) -> bool:
    kind, _, sub = section.partition(" ")
    kind, sub = kind.lower(), sub.strip(" \t")
    if sub and (len(sub) < 2 or sub[0] != '"' or sub[-1] != '"' or '"' in sub[1:-1]):
        return False
    name, equals, value = (part.strip(" \t") for part in text.partition("="))
    if not equals or any(letter in section + text for letter in "\\#;[]") or '"' in value or not text.isprintable():
        return False
    known = _HARMLESS.get((kind, bool(sub)), {}).get(name.lower())
    return known is not None and known(value)


def _is_place(url: str) -> bool:
    """Whether git reaches it by a protocol of its own: not by `ext::…`, and not by an option of a program."""
    scheme, colon, _ = url.partition("://")
    return "::" not in url and not url.startswith("-") and (not colon or scheme.lower() in _SCHEMES)


def _is_anything(_value: str) -> bool:
    return True


_HARMLESS: dict[tuple[str, bool], dict[str, Callable[[str], bool]]] = {  # by section, and whether it has a name
    ("core", False): dict.fromkeys(_CORE, _is_anything),
    ("user", False): dict.fromkeys(("name", "email"), _is_anything),
    ("branch", True): {
        **dict.fromkeys(("merge", "rebase", "description"), _is_anything),
        **dict.fromkeys(("remote", "pushremote"), _is_place),
    },
    ("remote", True): {
        **dict.fromkeys(("fetch", "push", "tagopt", "prune"), _is_anything),
        **dict.fromkeys(("url", "pushurl"), _is_place),
    },
    ("submodule", True): {"active": _is_anything, "url": _is_place},
}
