"""Where a log must not live."""

from __future__ import annotations

import os
from contextlib import closing

import apsw
import pytest

from moot.core.errors import Unavailable
from moot.logs.sqlite import SqliteLog, platform_checks

MOUNTINFO = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
24 22 0:5 / /dev rw,nosuid - devtmpfs udev rw,size=1k
40 22 0:40 / /home/team rw,relatime shared:9 - nfs4 server:/home/team rw,vers=4.2
41 40 0:41 / /home/team/local rw master:1 propagate_from:2 - xfs /dev/vdb rw
42 22 0:42 / /mnt/my\040share rw - cifs //server/share rw
43 22 0:43 / /mnt/twice rw - nfs server:/old rw
44 43 0:44 / /mnt/twice rw - btrfs /dev/vdc rw
45 22 0:45 / /mnt/remote rw - fuse.sshfs someone@server: rw
"""
MACOS = """/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse)
//someone@server/share (1) on /Volumes/share (1) (smbfs, nodev, nosuid, mounted by someone)
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/work/repository/.git/moot", "ext4"),
        ("/home/teammate", "ext4"),
        ("/home/team", "nfs4"),
        ("/home/team/repository", "nfs4"),
        ("/home/team/local/repository", "xfs"),
        ("/mnt/my share/x", "cifs"),
        ("/mnt/twice/x", "btrfs"),
        ("/mnt/remote/x", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_decides(path, kind):
    assert platform_checks.file_system_of(path, platform_checks.parse_mountinfo(MOUNTINFO)) == kind


@pytest.mark.parametrize(("path", "kind"), [("/Volumes/share (1)/x", "smbfs"), ("/Users/x", "apfs")])
def test_the_mounts_of_macos_are_understood(path, kind):
    assert platform_checks.file_system_of(path, platform_checks.parse_mount_output(MACOS)) == kind


def test_the_usual_suspects_are_refused_and_local_disks_are_not():
    kinds = platform_checks.shared_kinds()
    assert {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "lustre", "glusterfs"} <= kinds
    assert not {"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "hfs", "fuseblk", ""} & kinds


def test_a_log_on_a_network_file_system_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(platform_checks, "mounts", lambda: [("/", "ext4"), (os.path.realpath(tmp_path), "nfs4")])
    with pytest.raises(Unavailable) as refusal:
        SqliteLog.create(str(tmp_path / "log"))
    assert refusal.value.code == "network_file_system"
    assert refusal.value.details["kind"] == "nfs4"
    assert os.listdir(tmp_path) == []


def test_a_log_that_moved_to_another_device_is_looked_at_again(tmp_path, monkeypatch):
    directory = str(tmp_path / "log")
    SqliteLog.create(directory)
    monkeypatch.setattr(platform_checks, "mounts", lambda: [("/", "nfs")])
    SqliteLog(directory).close()  # the same device as before: not looked at
    with open(os.path.join(directory, "device"), "wb") as file:
        file.write(b"12345\n")
    with pytest.raises(Unavailable) as refusal:
        SqliteLog(directory)
    assert refusal.value.code == "network_file_system"
    monkeypatch.setattr(platform_checks, "mounts", lambda: [("/", "xfs")])
    SqliteLog(directory).close()
    with open(os.path.join(directory, "device"), "rb") as file:
        assert file.read() == b"%d\n" % os.stat(directory).st_dev


def test_where_the_system_tells_nothing_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(platform_checks, "mounts", list)
    assert SqliteLog.create(str(tmp_path / "log"))


@pytest.mark.parametrize("version", ["3.51.2", "3.50.4", "3.7.17", "2.8.17"])
def test_an_sqlite_that_corrupts_shared_logs_is_refused(version, tmp_path, monkeypatch):
    SqliteLog.create(str(tmp_path / "log"))
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    for attempt in (lambda: SqliteLog(str(tmp_path / "log")), lambda: SqliteLog.create(str(tmp_path / "other"))):
        with pytest.raises(Unavailable) as refusal:
            attempt()
        assert refusal.value.code == "old_sqlite"
        assert refusal.value.details == {"version": version, "needed": "3.51.3"}


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "3.100.0", "4.0.0"])
def test_a_sound_sqlite_is_welcome(version, tmp_path, monkeypatch):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    SqliteLog.create(str(tmp_path / "log"))
    with closing(SqliteLog(str(tmp_path / "log"))) as log:
        assert log.head() == 0
