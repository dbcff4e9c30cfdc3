"""Checks that a log is safe here: that SQLite is recent enough, and that the file system's locks work.

The check of the file system takes longer than the rest of opening a log. So the number of a device that passed is
stored next to the log, and only another device is checked again.
"""

from __future__ import annotations

import os
import sys

import apsw

from moot.logs.sqlite import faults
from moot.place.private_files import read_private, write_private

NEEDED_SQLITE = (3, 51, 3)

_RECORD = "device"
_LONGEST = 64  # bytes


def check_sqlite(version: str | None = None) -> None:
    """Raise if this SQLite has the bug that lets several writers corrupt a write-ahead log."""
    version = version or apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < NEEDED_SQLITE:
        raise faults.old_sqlite(version, ".".join(map(str, NEEDED_SQLITE)))


def check_file_system(directory: str, *, keep: bool = True) -> None:
    """Raise if the directory (which need not exist yet) is on a file system that several machines share.

    The result is stored if `keep` is set.
    """
    try:
        device = b"%d\n" % os.stat(directory).st_dev
    except OSError:
        device = b""
    if device and _recorded(directory) == device:
        return
    kind = file_system_of(os.path.realpath(directory), mounts())
    if kind in shared_kinds():
        raise faults.network_file_system(directory, kind)
    if device and keep:
        _record(directory, device)


def file_system_of(path: str, found: list[tuple[str, str]]) -> str:
    """The type of the mount that contains `path`: the longest prefix, and the latest of equal ones."""
    best, kind = -1, ""
    for place, its in found:
        inside = path == place or path.startswith(place if place.endswith("/") else place + "/")
        if inside and len(place) >= best:
            best, kind = len(place), its
    return kind


def shared_kinds() -> frozenset[str]:
    """The file systems that are refused."""
    with open(os.path.join(os.path.dirname(__file__), "shared_file_systems.txt"), encoding="utf-8") as file:
        return frozenset(word for line in file if not line.startswith("#") for word in line.split())


def mounts() -> list[tuple[str, str]]:
    """Every mount as (path, type). Empty if the system does not list them; then nothing is refused."""
    if sys.platform == "darwin":
        return parse_mount_output(_run_mount())
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return parse_mountinfo(file.read())
    except OSError:
        return []


def parse_mountinfo(text: str) -> list[tuple[str, str]]:
    """Lines of /proc/self/mountinfo: `36 35 98:0 /root /place rw,noatime master:1 - ext4 /dev/root rw`."""
    found = []
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        if dash:
            place = before.split(" ")[4]
            for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
                place = place.replace(code, letter)
            found.append((place, after.split(" ", 1)[0]))
    return found


def parse_mount_output(text: str) -> list[tuple[str, str]]:
    """Lines of macOS's `mount`: `//user@host/share on /Volumes/share (smbfs, nodev, nosuid)`."""
    found = []
    for line in text.splitlines():
        front, bracket, options = line.rpartition(" (")
        if bracket:
            found.append((front.partition(" on ")[2], options.rstrip(")").split(",", 1)[0]))
    return found


def _run_mount() -> str:
    import subprocess  # macOS only, and only for a device not seen before

    try:
        return subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _recorded(directory: str) -> bytes:
    try:
        return read_private(os.path.join(directory, _RECORD), _LONGEST)
    except OSError:
        return b""


def _record(directory: str, device: bytes) -> None:
    try:
        write_private(os.path.join(directory, _RECORD), device)
    except OSError:
        pass  # not writable: it is checked again next time
