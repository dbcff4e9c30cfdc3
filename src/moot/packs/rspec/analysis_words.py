"""Words that the analyzer knows: what makes a value terminal, which classes are Ruby's own, and plain English verbs."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


TERMINAL_PREFIXES = ("not_", "no_", "invalid_", "missing_", "without_", "exceeds_", "below_", "above_")
TERMINAL_WORDS = word_set(
    "guest none disabled blocked denied rejected forbidden completed finished cancelled canceled failed closed "
    "archived expired insufficient empty zero unauthorized unauthenticated inactive banned suspended locked"
)
GENERIC_NAMES = frozenset(("status", "type", "state", "kind", "name", "active", "valid"))
PROGRESSIONS = (
    ("draft", "submitted", "in_review", "reviewed", "approved", "scheduled", "published", "archived"),
    ("new", "open", "assigned", "in_progress", "resolved", "closed", "reopened"),
    ("todo", "doing", "in_progress", "in_review", "done"),
    ("cart", "pending", "confirmed", "ordered", "paid", "processing", "packed", "shipped", "delivered", "returned"),
    ("pending", "queued", "scheduled", "processing", "running", "in_progress", "completed", "finished"),
    ("created", "pending", "active", "past_due", "cancelled", "expired"),
    ("low", "medium", "high", "critical"),
    ("free", "basic", "standard", "premium", "enterprise"),
    ("bronze", "silver", "gold", "platinum"),
)
STATE_MACHINES = frozenset(("aasm", "state_machine", "workflow", "stateful_enum"))
# Classes of Ruby itself whose results are values, not answers of a collaborator.
VALUE_CLASSES = word_set(
    "Array BigDecimal Comparable Complex Date DateTime Encoding Enumerable ENV FalseClass Float Hash Integer JSON "
    "Kernel Math NilClass Numeric Object OpenStruct Proc Random Range Rational Regexp SecureRandom Set String Struct "
    "Symbol Time TrueClass YAML Rails I18n ActiveSupport"
)
TIME_WORDS = frozenset(
    ("Time", "Date", "DateTime", "ago", "from_now", "now", "today", "current", "yesterday", "tomorrow")
)
HTTP_CLIENTS = frozenset(("HTTP", "Net::HTTP", "HTTParty", "Faraday", "RestClient", "HTTPClient", "Typhoeus", "Excon"))
QUERIES = word_set(
    "all find find_by find_by! find_or_create_by find_or_create_by! find_or_initialize_by where not first last take "
    "count exists? any? none? pluck ids sum average minimum maximum order limit includes joins left_joins preload "
    "eager_load select group having distinct scoped unscoped find_each in_batches lock"
)
_GUARDS = (
    ("authentication", "current_user authenticated authenticate logged_in signed_in session token login guest"),
    ("authorization", "authorized authorize can permitted permission admin allowed policy role owner access forbidden"),
    ("validation", "valid invalid nil blank present empty missing errors required format positive negative zero"),
)
GUARD_LAYERS = tuple((layer, word_set(words)) for layer, words in _GUARDS)
_VERBS_LIKE_PARTICIPLES = word_set("bring embed exceed proceed speed spring string succeed")
_ODD_VERBS = {"have": "has", "be": "is", "do": "does", "go": "goes"}


def words_of(name: str) -> str:
    """A name of Ruby as words: `refund_eligible?` and `RefundEligible` as `refund eligible`."""
    found: list[str] = []
    for part in name.strip("?!=@:").replace("::", "_").replace("-", "_").split("_"):
        start = 0
        for at in range(1, len(part)):
            after_small = part[at].isupper() and not part[at - 1].isupper()
            ends_acronym = part[at].isupper() and at + 1 < len(part) and part[at + 1].islower()
            if after_small or ends_acronym:
                found.append(part[start:at])
                start = at
        found.append(part[start:])
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in found if word)


def snake_of(text: str) -> str:
    """A text as an id: small letters, digits and underscores, not beginning with a digit."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in text.lower())
    joined = "_".join(part for part in plain.split("_") if part)[:120].strip("_")
    return joined if joined[:1].isalpha() else f"n_{joined}".strip("_")


def class_of(name: str) -> str:
    """The class that a variable holds by convention: `@payment_gateway` a PaymentGateway."""
    return "".join(part[:1].upper() + part[1:] for part in name.lstrip("@$").strip("?!").split("_"))


def third_person(verb: str) -> str:
    """`process` as `processes`."""
    if verb in _ODD_VERBS:
        return _ODD_VERBS[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def does(name: str) -> str:
    """What a method of this name does: `calculate_fee` as `calculates fee`."""
    if name.endswith("?"):
        return f"returns whether {words_of(name)}"
    verb, _, rest = words_of(name).partition(" ")
    if is_participle(verb):
        return f"returns {words_of(name)}"
    return f"{third_person(verb)} {rest}".strip() if verb else "runs"


def is_participle(word: str) -> bool:
    """Whether it says what something is like, such as `reduced` or `pending`, and not what is done."""
    return word.endswith(("ed", "ing")) and len(word) > 4 and word not in _VERBS_LIKE_PARTICIPLES


def is_terminal_name(name: str) -> bool:
    """Whether the name of a value says that nothing follows."""
    small = name.lower().replace(" ", "_")
    return small.startswith(TERMINAL_PREFIXES) or any(word in TERMINAL_WORDS for word in small.split("_"))
