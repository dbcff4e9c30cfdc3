"""When a stage has passed: what is checked on the real files and the document after each one."""

from __future__ import annotations

import os

from moot.packs.rspec import architect, contexts, factory_checks, implementer, stage_documents
from moot.packs.rspec.agents import selected_methods
from moot.packs.rspec.document_check import REMNANTS, check_document
from moot.packs.rspec.rspec_runs import run_rspec
from moot.packs.rspec.spec_blocks import blocks_of
from moot.packs.rspec.stage_documents import answer_in, document_of, of_this_wave, structure_of
from moot.packs.ruby.outside_blocks import changed_line
from moot.runs.commands import EXAMPLE
from moot.runs.contract import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.packs.rspec.rspec_runs import RspecCommand
    from moot.runs.contract import Check, Criterion, StageInput


_AGAIN = "`moot rspec cover --again` plans them again."


def document_is_valid(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    for finding in check_document(document_of(after)):
        if finding.severity == "error" or finding.path in REMNANTS:
            yield Problem(finding.text, key=finding.path, blocks=finding.severity == "error")


def selected_are_analysed(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    document = document_of(after)
    for entry in document["methods_to_analyze"]:
        analysed = next((one for one in document.get("methods") or () if one["name"] == entry["name"]), None)
        if entry["selected"] and analysed is None:
            yield Problem(f"{entry['name']} is selected, and was not analysed", key="methods")
        elif analysed is not None and not entry["selected"]:
            yield Problem(f"{entry['name']} was analysed, and is not selected", key="methods")
        elif analysed is not None and analysed.get("method_mode") != entry["method_mode"]:
            yield Problem(f"expected the method_mode {entry['method_mode']} of {entry['name']}", key="methods")


def every_method_is_configured(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    document = document_of(after)
    for method in selected_methods(document):
        if "test_config" not in method:
            yield Problem(f"{method['name']} has no test_config", key="methods")
    for finding in check_document(document):
        if finding.severity == "error" and "test_config" in finding.path:
            yield Problem(finding.text, key=finding.path)


def spec_shows_the_structure(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    path = after.path("spec")
    for text, line in architect.spec_problems(structure_of(after), after.file("spec") or b""):
        yield Problem(text, path, line)
    if architect.kinds(contexts.structure_of(of_this_wave(after))) != architect.kinds(structure_of(after)):
        yield Problem("the structure has other contexts or examples than the characteristics", key="structure")
    for text, line in architect.unworded(structure_of(after), after.file("spec") or b""):
        remedy = f"Only an agent can word it: in moot.toml, [run.rspec] test-architect = {EXAMPLE}."
        yield Problem(text, path, line, remedy=remedy)


def only_texts_were_reworded(_before: StageInput, after: StageInput) -> Iterator[Problem]:
    """For the wording: compared with what the built-in part has written."""
    path, new = after.path("spec"), after.file("spec") or b""
    planned = (after.output.files.get(path) if after.output is not None else None) or b""
    names = [method["name"] for method in structure_of(after)["methods"]]
    for text, line in architect.wording_problems(planned, new, document_of(after)["class_name"], names):
        yield Problem(text, path, line)


def _changed_outside(structure: Mapping[str, Any], before: bytes, after: bytes, path: str) -> Iterator[Problem]:
    """Around the blocks of the structure's methods, every byte stays as it was."""
    names = [method["name"] for method in structure["methods"]]
    old, new = (blocks_of(data, structure["describe"]) for data in (before, after))
    own = [[block.group for block in found.blocks if block.name in names] for found in (old, new)]
    if not new.spec.problems and (line := changed_line(before, own[0], after, own[1])):
        yield Problem(f"changed; only the blocks of {', '.join(names)} may change", path, line)


def spec_is_implemented(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """Checks the blocks that the stage filled in, and that it changed nothing else."""
    document, path = document_of(after), after.path("spec")
    old, new = before.file("spec") or b"", after.file("spec")
    if new is None:
        yield Problem("the spec file was removed", path)
        return
    problems = [*implementer.spec_is_implemented(document, path, new)]
    for problem in problems:
        yield Problem(problem.text, problem.path, problem.line, blocks=problem.certain)
    yield from _changed_outside(structure_of(after), old, new, path)


def claims_hold(before: StageInput, after: StageInput) -> Iterator[Problem]:
    """What the answer says of its files."""
    files = answer_in(after).get("files_created") or []
    contents = {path: data for role in after.files.values() for path, data in role.items()}
    traits = factory_checks.traits_by_file(before.files.get("factories", {}), after.files.get("factories", {}))
    for problem in implementer.claims_hold(files, document_of(after), contents, traits):
        yield Problem(problem.text, problem.path, blocks=problem.certain)
    listed = {entry["path"] for entry in files}
    for path, (_, added) in traits.items():
        if added and path not in listed:
            yield Problem(f"{', '.join(sorted(added))} added and not stated in data.files_created", path, blocks=False)


def factories_hold(before: StageInput, after: StageInput) -> Iterator[Problem]:
    old, new = before.files.get("factories", {}), after.files.get("factories", {})
    for path, text, line in factory_checks.factory_problems(old, new):
        yield Problem(text, path, line)


def review_holds(after: StageInput, rspec: RspecCommand) -> Iterator[Problem]:
    """The counts of structure, spec file and review agree; an agent's verdict is checked by running RSpec."""
    document, data = document_of(after), after.file("spec") or b""
    structure = structure_of(after)
    yield from _uncounted({**document, "structure": structure}, after.path("spec"), data)
    if after.output is not None and after.output.skip and structure["methods"]:
        yield Problem("skipped, and the spec file has tests that must run", after.path("spec"))
        return
    answer = answer_in(after)
    if "examples" not in answer and selected_methods(document):  # from an agent
        result = run_rspec(after, rspec)
        if result.passed is not answer.get("tests_passed"):
            said = f"tests_passed: the answer says {answer.get('tests_passed')}, and RSpec says {result.passed}"
            yield Problem(said)
            for one in result.failures:
                yield Problem(f"{one.description}: {one.message.splitlines()[0]}")


def _uncounted(document: Mapping[str, Any], path: str, data: bytes) -> Iterator[Problem]:
    """Methods whose blocks have more or fewer examples than the structure."""
    for method, found in stage_documents.examples_by_method(document, data).items():
        planned = stage_documents.planned(document["structure"], method)
        if planned != found:
            yield Problem(f"{method}: {planned} examples are planned, found {found}", path, remedy=_AGAIN)


def names_its_source(given: StageInput) -> Iterator[Problem]:
    """A document belongs to the source that its slug names."""
    document, source = given.document or {}, given.path("source")
    if document.get("source_file") not in (None, source):
        said = f"the document is about {document.get('source_file')}, and its slug belongs to {source}"
        yield Problem(said, key="/source_file")


def spec_exists(given: StageInput) -> Iterator[Problem]:
    path = given.path("spec")
    if not os.path.isfile(os.path.join(given.target.root, path)):
        yield Problem(f"Spec file not found: {path}", remedy="Restore it, or run test-architect again.")


CHECKS: Mapping[str, Check] = {"names-its-source": names_its_source, "spec-exists": spec_exists}
CRITERIA: Mapping[str, Criterion] = {
    "document-is-valid": document_is_valid,
    "selected-methods-are-analysed": selected_are_analysed,
    "every-method-is-configured": every_method_is_configured,
    "spec-shows-the-structure": spec_shows_the_structure,
    "only-texts-were-reworded": only_texts_were_reworded,
    "spec-is-implemented": spec_is_implemented,
    "factories-hold": factories_hold,
    "claims-hold": claims_hold,
}
