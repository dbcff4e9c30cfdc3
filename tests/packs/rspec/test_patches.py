"""What git prints about changes, read without being fooled by names and contents."""

from __future__ import annotations

from moot.packs.rspec.patches import Entry, Hunk, entries, hunks

OLD, NEW = "1" * 40, "2" * 40


def test_raw_lines_give_status_paths_mode_and_the_old_blob() -> None:
    raw = f":100644 100644 {OLD} {NEW} M\0a b.rb\0:100644 120000 {OLD} {NEW} R087\0old.rb\0new\t.rb\0"
    assert list(entries(raw.encode().split(b"\0")[:-1])) == [
        Entry(status="M", path=b"a b.rb", old_path=b"a b.rb", mode="100644", blob=OLD),
        Entry(status="R", path=b"new\t.rb", old_path=b"old.rb", mode="120000", blob=OLD),
    ]


def test_hunks_are_read_per_file_and_content_that_looks_like_a_head_is_skipped() -> None:
    patch = b"""diff --git a/a.rb b/a.rb
--- a/a.rb
+++ b/a.rb
@@ -1,2 +1,3 @@ def x
---- a/fake.rb
-@@ -1 +1 @@
++++ b/fake.rb
+@@ -9 +9 @@
+x
@@ -10,3 +11,0 @@
-a
-b
-c
\\ No newline at end of file
diff --git a/b.rb b/b.rb
--- a/b.rb
+++ b/b.rb
@@ -5 +5 @@
-a
+b
"""
    assert hunks(patch) == {
        b"a.rb": (Hunk(first=1, count=3), Hunk(first=11, count=0)),
        b"b.rb": (Hunk(first=5, count=1),),
    }


def test_quoted_names_are_read_as_git_writes_them() -> None:
    patch = b'+++ "b/caf\\303\\251\\t\\"x\\\\.rb"\n@@ -1 +1 @@\n-a\n+b\n+++ b/with blank.rb\t\n@@ -2 +2 @@\n-a\n+b\n'
    assert set(hunks(patch)) == {b'caf\xc3\xa9\t"x\\.rb', b"with blank.rb"}


def test_a_hunk_touches_the_lines_that_it_changes_and_a_deletion_those_around_it() -> None:
    changed = Hunk(first=10, count=3)
    assert [changed.touches(*lines) for lines in ((1, 9), (1, 10), (12, 20), (13, 20))] == [False, True, True, False]
    deleted = Hunk(first=10, count=0)  # between the lines 10 and 11
    assert [deleted.touches(*lines) for lines in ((5, 10), (10, 11), (5, 20), (11, 20))] == [False, True, True, False]
