"""Creates, restores, diagnoses and removes a workspace."""

from __future__ import annotations

import os

from moot import place as places
from moot.api.verbs.workspace import BY_ROLE, PARAGRAPH, Created, Finding, Opener, RestoreResult, checkup
from moot.api.workspace import quietly
from moot.core.errors import MootError, Refused, Unavailable, Usage
from moot.core.identity import decide, people_only
from moot.engine.sweeping import sweep
from moot.logs.sqlite import SqliteLog
from moot.mirrors import git_exclude
from moot.mirrors.adopting import adopted_since
from moot.mirrors.forms import form_of
from moot.place import settings as setting
from moot.wiring import left_behind, open_workspace
from moot.wiring.packs import known as known_packs
from moot.wiring.packs import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.api.call import Call
    from moot.api.protocol.form import Form
    from moot.api.removal import Removal
    from moot.api.workspace import Progress, Workspace
    from moot.core.identity import Caller
    from moot.place import Place


class Admin(Opener):
    """Operations on the workspace of a directory that do not need an open workspace."""

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        caller: Caller | None = None,
        via: str = "python",
        *,
        named: bool = False,
    ) -> None:
        self._cwd, self._env, self._via, self._named = cwd, env, via, named
        self.caller = caller or decide(env)
        self.progress: Progress = quietly

    @property
    def place(self) -> Place:
        return places.find(self._cwd, self._env, named=self._named)

    def create(self, packs: tuple[str, ...], *, exclude: bool = True) -> Created:
        there = known_packs() if packs else []
        for name in packs:
            if name not in there:
                raise Usage("unknown_pack", f"There is no pack {name!r}.", f"Known: {', '.join(there)}.", pack=name)
        place = places.create(self._cwd, self._env, named=self._named)
        left_behind.check_nothing_left(place, self._cwd)
        # The log first, so that the workspace exists even if the settings are invalid.
        new = SqliteLog.create(place.state)
        settings = setting.load(place)
        if any(name not in settings.packs for name in packs):
            _turn_on(place, tuple(dict.fromkeys((*settings.packs, *packs))))
            settings = setting.load(place)
        made = Created(
            root=place.root,
            state=place.state,
            new=new,
            packs=settings.packs,
        )
        if not settings.packs:
            return _excluding(made, git_exclude.exclude(place, ()))
        with self._workspace() as workspace, workspace.call(self.caller) as call:
            if workspace.setup.problem is not None:
                raise workspace.setup.problem
            made = _excluding(made, git_exclude.exclude(place, _forms(call) if exclude else ()))
            made = made.replace(paragraph=_paragraph(call))
            found = [one for one in call.packs.mirrors if os.path.lexists(os.path.join(place.root, one.path))]
            start = call.engine.log.head()
            call.sync()
            adoption = adopted_since(call, start)
            files = ", ".join(one.path for one in found)
            made = made.replace(adopted=f"{adoption.said} (from {files})" if adoption.said else "")
            other = (one.flat for one in call.packs.mirrors if one.flat)
            elsewhere = tuple(path for path in other if os.path.lexists(os.path.join(place.root, path)))
            lines = tuple(line for one in call.packs.having("adopted") for line in one.adopted(call))
            return made.replace(elsewhere=elsewhere, told=tuple(call.take_warnings()), found=lines)

    def _workspace(self) -> Workspace:
        return open_workspace(self._cwd, self._env, progress=self.progress, via=self._via, named=self._named)

    def restore(self, file: str, *, force: bool) -> RestoreResult:
        """Replace the log with a backup, even if the log cannot be opened."""
        from moot.wiring import restoring

        people_only(self.caller, "`moot restore`")
        place = self.place
        left_out = ("MOOT_AGENT", "MOOT_INCARNATION", places.VARIABLE)
        env = {name: value for name, value in self._env.items() if name not in left_out}
        env[places.VARIABLE] = place.root  # so that it is found again
        return restoring.restore(place, self._cwd, env, file, self.progress, force=force, via=self._via)

    def plan_removal(self, *, force: bool) -> Removal:
        from moot.wiring.removing import WorkspaceRemoval

        return WorkspaceRemoval(self.place, self._cwd, self._env).plan(force=force)

    def remove(self, *, force: bool) -> Removal:
        from moot.wiring.removing import WorkspaceRemoval

        return WorkspaceRemoval(self.place, self._cwd, self._env).run(force=force)

    def diagnose(self) -> list[Finding]:
        """Do the steps of every call, and report how far they get."""
        findings = []
        try:
            place = self.place
            findings.append(Finding("workspace", good=True, message=f"{place.root}, state in {place.state}"))
            settings = setting.load(place)
            source = setting.source(place) or "no moot.toml; using defaults"
            packs = ", ".join(settings.packs) or "none"
            findings.append(Finding("settings", good=True, message=f"{source}; packs: {packs}"))
            with self._workspace() as workspace, workspace.call(self.caller) as call:
                if workspace.setup.problem is not None:
                    raise workspace.setup.problem
                sweep(place.state, call.engine.log)
                from moot.guard.verbs import guard_findings  # it runs git, which needs slow imports
                from moot.mirrors.pack_files import WorktreeFiles

                findings += checkup(call, WorktreeFiles(place))
                return findings + guard_findings(place)
        except MootError as error:
            return [*findings, Finding(error.code, good=False, message=error.message, remedy=error.remedy)]


def _forms(call: Call) -> list[Form]:
    """The forms of the packs' files. If the code of a pack fails, syncing reports it."""
    try:
        return [form_of(spec, call.packs) for spec in call.packs.mirrors]
    except Refused:
        return []


def _paragraph(call: Call) -> str:
    """The text for AGENTS.md: with roles that have briefs, it points to them."""
    roles = [role.name for pack in call.packs.packs for role in pack.roles if role.brief]
    return BY_ROLE.format(roles=", ".join(dict.fromkeys(roles))) if roles else PARAGRAPH


def _excluding(made: Created, found: git_exclude.Excluded | None) -> Created:
    if found is None:
        return made
    return made.replace(excluded=found.lines, exclude_file=found.path, exclude_problem=found.problem)


def _usual_lifecycle(name: str, place: Place) -> str:
    """The lifecycle setting for new tasks, if the pack has a lifecycle of the same name."""
    found = pack(name, place.state)
    return f'\n[tasks]\nlifecycle = "{name}"\n' if any(life.name == name for life in found.lifecycles) else ""


def settings_text(packs: tuple[str, ...], place: Place) -> str:
    """The `moot.toml` that `moot init` writes for these packs."""
    listed = ", ".join(f'"{name}"' for name in packs)
    return f"packs = [{listed}]\n{_usual_lifecycle(packs[0], place)}"


def _turn_on(place: Place, packs: tuple[str, ...]) -> None:
    """Write a `moot.toml` that names the packs; never edit an existing one."""
    home = setting.homes(place)[0]
    path = os.path.join(home, setting.FILE)
    line = settings_text(packs, place).partition("\n")[0]
    # An unpredictable name, so that no link can be planted there.
    draft = os.path.join(home, f".{setting.FILE}.{os.urandom(6).hex()}")
    try:
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with open(file, "w", encoding="utf-8") as out:
            out.write(settings_text(packs, place))
        os.link(draft, path)  # atomic, and never overwrites an existing file
    except FileExistsError:
        if set(packs) <= set(setting.load(place).packs):
            return  # another process created it at the same moment
        raise Usage(
            "settings_exist",
            f"The workspace exists. Your file {path} was not changed, and does not activate all of: "
            f"{', '.join(packs)}.",
            f"Add this line before its first [section], or replace the line that sets `packs`: {line}",
            file=path,
            line=line,
        ) from None
    except OSError as problem:
        raise Unavailable(
            "settings_unwritable",
            f"The workspace exists, but {path} cannot be written: {problem.strerror}.",
            "Make its directory writable, or free disk space, then try again.",
            file=path,
        ) from problem
    finally:
        try:
            os.unlink(draft)
        except OSError:
            pass  # it was not created
