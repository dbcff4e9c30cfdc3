"""Root obeys permission bits like everybody else: without the two capabilities that let it pass them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = 0x20080522
_PASS_PERMISSIONS = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_DROP_FROM_BOUNDS = 24  # prctl(PR_CAPBSET_DROP)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """For this thread. Does nothing where the tests do not run as root."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head, before = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    _checked(libc.capget(head, before))
    _checked(libc.capset(head, (ctypes.c_uint32 * 6)(before[0] & ~_PASS_PERMISSIONS, *before[1:])))
    try:
        yield
    finally:
        _checked(libc.capset(head, before))


def run(*words: str) -> None:
    """Become another program. `python -m tests.unprivileged PROGRAM …` does so."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            _checked(ctypes.CDLL(None, use_errno=True).prctl(_DROP_FROM_BOUNDS, capability, 0, 0, 0))
    os.execvp(words[0], words)


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "the capabilities of root cannot be changed")


if __name__ == "__main__":
    run(*sys.argv[1:])
