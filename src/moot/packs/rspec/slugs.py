"""Slugs: the names of documents. A slug is made from a source path, and never turned back into one."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def slug_of(path: str) -> str:
    """The slug of a source path: `app/services/payment.rb` gives `app_services_payment`."""
    folder, name = os.path.split(path)
    return os.path.join(folder, os.path.splitext(name)[0]).replace("/", "_")


def second_slug(path: str) -> str:
    """The slug of a source whose own slug belongs to another one: with a short digest of its path."""
    import hashlib

    return f"{slug_of(path)}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


def class_slug(slug: str, class_name: str) -> str:
    """The slug of a further class of a file."""
    return f"{slug}__{class_name.replace('::', '_')}"


def belongs(slug: str, path: str, class_name: str) -> bool:
    """Whether a slug can be that of this class in this source."""
    own = (slug_of(path), second_slug(path))
    return slug in own or slug in {class_slug(one, class_name) for one in own}


def unique_slugs(paths: Iterable[str], taken: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """A slug for each source. `taken`: slugs that documents already have, each with its source.

    The first source keeps the plain slug, in the order of the documents and then of the paths.
    """
    owner = {slug: path for slug, path in taken if slug in {slug_of(path), second_slug(path)}}
    known = {path: slug for slug, path in owner.items()}
    wanted = list(paths)
    for path in wanted:
        if path in known:
            continue
        slug = slug_of(path)
        if owner.get(slug, path) != path:
            slug = second_slug(path)
        owner[slug], known[path] = path, slug
    return {path: known[path] for path in wanted}


def matches_file(path: str, class_name: str) -> bool:
    """Whether a class has the name that its file has: PaymentProcessor in payment_processor.rb."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return stem.replace("_", "").lower() == class_name.rpartition("::")[2].replace("_", "").lower()
