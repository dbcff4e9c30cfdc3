"""Inputs of stages for tests that call criteria and stages directly."""

from __future__ import annotations

import copy
from typing import Any

from moot.runs.contract import StageInput, Target
from moot.runs.stage import Stage
from tests.specs.rspec_v1.documents import PAYMENT

SPEC = "spec/services/payment_service_spec.rb"
SOURCE = "app/services/payment_service.rb"


def given(
    spec: str | None, document: dict[str, Any] | None = None, *, source: str | None = None, **more: Any
) -> StageInput:
    """The input of a stage with this spec file. Lines of `spec` may be indented together."""
    files: dict[str, dict[str, bytes]] = {}
    if spec is not None:
        files["spec"] = {SPEC: spec.encode()}
    if source is not None:
        files["source"] = {SOURCE: source.encode()}
    target = Target(id="t", root="/nowhere", paths={"spec": (SPEC,), "source": (SOURCE,)})
    return StageInput(
        stage=Stage(name="test"),
        target=target,
        files=files,
        document=copy.deepcopy(PAYMENT) if document is None else document,
        **more,
    )


def spec_of(body: str, method: str = "#process_payment", top: str = "PaymentService") -> str:
    """A spec file with the block of the method."""
    return f"RSpec.describe {top} do\n  describe '{method}' do\n{body}\n  end\nend\n"


def said(problems: Any) -> list[str]:
    return [one.said for one in problems]
