"""Files that RSpec, Bundler or a helper of a spec load by themselves. They decide what a run of the tests means.

A project may have told git to ignore them, so a stage could change them unseen. `*` also stands for folders.
"""

from __future__ import annotations

LOADED = (
    *(".rspec", ".rspec-local", "~/.rspec", "~/.config/rspec/options"),
    *("Gemfile", "Gemfile.lock", ".bundle/config", "~/.bundle/config"),
    *("spec/*.rb", "app/*.rb", "lib/*.rb", "config/*.rb"),
)
