"""Files that RSpec, Bundler or a helper of a spec load by themselves. They decide what a run of the tests means.

A project may have told git to ignore them, so a stage could change them unseen. `*` also stands for folders. A path may
begin with the user's home, or with a variable of the environment.
"""

from __future__ import annotations

LOADED = (
    *(".rspec", ".rspec-local", "~/.rspec", "~/.config/rspec/options", "$XDG_CONFIG_HOME/rspec/options"),
    *("Gemfile", "Gemfile.lock", ".bundle/config", "~/.bundle/config"),
    *("spec/*.rb", "app/*.rb", "lib/*.rb", "config/*.rb"),
)
