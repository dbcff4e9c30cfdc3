"""Whether tests pass depends on more than the spec file, so they run again if another file changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.specs.rspec_v1.shop import HELPER, PAYMENT, SOURCE

if TYPE_CHECKING:
    from tests.specs.rspec_v1.shop import Shop


@pytest.mark.proves("S1-POL-01")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (SOURCE, PAYMENT.replace(":large", ":huge")),
        ("spec/spec_helper.rb", HELPER.replace("= authenticated", "= false")),
    ],
    ids=["the source", "the helper"],
)
def test_tests_that_fail_since_another_file_changed_have_not_passed(staffed: Shop, path: str, text: str) -> None:
    assert staffed.run().code == 2
    staffed.write(path, text)
    failed = staffed.run("--overwrite")
    assert failed.code == 1
    assert "failed at polisher\nError: the tests do not pass" in failed.err
    assert staffed.document()["automation"]["polisher_completed"] is False


@pytest.mark.proves("S1-POL-01")
def test_what_a_helper_raises_is_said(staffed: Shop) -> None:
    staffed.write(".rspec", "--require spec_helper\n")
    staffed.write("spec/spec_helper.rb", f"raise 'no database here'\n{HELPER}")
    failed = staffed.run()
    assert failed.code == 1
    assert "the spec file cannot be loaded: RuntimeError: no database here" in failed.err
