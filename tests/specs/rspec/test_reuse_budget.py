"""What `cover` costs when everything is reused: git looks for changes, and the project is listed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from moot.packs.rspec.project_classes import ruby_files
from tests.specs.rspec.test_waves_of_a_class import TILL
from tests.watch import watching

if TYPE_CHECKING:
    from tests.specs.rspec.shop import Shop


@pytest.mark.promise(13)
def test_covering_again_starts_only_git_and_lists_the_project_once_for_all_classes(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"Till{number}" for number in range(3)]
    for name in names:
        shop.write(f"app/services/{name.lower()}.rb", TILL.replace("Till", name))
    shop.open()
    assert len(shop.cover().files) == len(names)
    agents = shop.asked()
    listed = list[str]()
    counting = lambda root: (listed.append(root), ruby_files(root))[1]  # noqa: E731
    monkeypatch.setattr("moot.packs.rspec.cover_run.ruby_files", counting)
    counts = list[int]()
    for _ in range(2):
        listed.clear()
        with watching(shop.root) as watch:
            assert len(shop.cover().files) == len(names)
        assert set(watch.programs) == {"git", "rspec"}, "the review runs each time"
        counts.append(len(watch.programs))
        assert len(listed) == 1
        own = {path: many for path, many in watch.files.items() if path.startswith("app/")}
        assert set(own.values()) == {max(own.values())}, own  # none is read more often than the others
    assert shop.asked() == agents
    assert counts[0] == counts[1]
