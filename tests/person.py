"""The person who runs the tests, as moot knows them: by the account, whatever the environment says."""

from __future__ import annotations

from moot.core.principal import person
from moot.place.account import login

ME = person(login())
AS_A_PERSON = {"MOOT_PERSON": "1"}  # what a test's environment says, where no agent acts
