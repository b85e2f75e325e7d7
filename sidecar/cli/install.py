"""Putting the plugin into the host's profiles and taking it out again, so that a crash leaves no half of either."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct

from foldstate.sidecar.cli.bundle import MANIFEST, NAME, Bundle, shipped
from foldstate.sidecar.cli.dsh import Dsh, find_dsh, has_pnpm
from foldstate.sidecar.cli.failure import CommandError, sentence_of
from foldstate.sidecar.cli.files import remove, write_file
from foldstate.sidecar.cli.home import Home
from foldstate.sidecar.cli.host_lock import LockHeldError, host_lock
from foldstate.sidecar.cli.manifest import decode
from foldstate.sidecar.cli.profile import Profile
from foldstate.sidecar.cli.words import Words

ProfileName: TypeAlias = Literal["web", "headless", "sdk"]
PROFILES: Final[tuple[ProfileName, ...]] = get_args(ProfileName)

LOCK_WAIT_S = 240.0
"""For another installation to end; one through pnpm is given 180 s."""


ARGS: Final = ("-P", "-m", "foldstate.sidecar")
"""`-P`: the sidecar is started in our data folder, and nothing that lies there is to be imported."""

TROUBLE: Final = (CommandError, OSError)


class Runtime(Struct, frozen=True):
    """How the plugin starts the sidecar: written by the installation that it belongs to."""

    interpreter: str
    args: tuple[str, ...]
    version: str


class Line(Struct, frozen=True):
    """A sentence for the user. `passed_by` is trouble with a profile that nobody asked to change."""

    text: str
    outcome: Literal["done", "passed_by", "failed"] = "done"


class Installer(Struct, frozen=True):
    """Installs for one home. A profile that can't be changed is said, is left as it was, and keeps none of the others
    from being changed."""

    home: Home
    words: Words

    def install(self, names: Sequence[str], dsh_path: Path | None) -> Iterator[Line]:
        """Puts the shipped plugin into each profile; yields what was done and what wasn't.

        :raises CommandError: nothing could be begun.
        """
        chosen = self._check(names)
        bundle = shipped(self.words)
        changed = False
        with self._alone():
            dsh = find_dsh(dsh_path, self.home.path, self.words)
            pnpm = dsh if dsh is not None and has_pnpm(self.home.path, os.environ) else None
            ready: list[Profile] = []
            for profile in chosen:
                try:
                    self._make(profile, dsh)
                except TROUBLE as error:
                    yield self._failed(error)
                else:
                    ready.append(profile)
            if ready:
                bundle.publish(self.home.bundles)
                self._write_runtime(bundle.version)
            for profile in ready:
                try:
                    profile.clear()
                    new = not profile.holds(bundle.files, self._spec(bundle))
                    if new:
                        self._put_in(profile, bundle, pnpm)
                except TROUBLE as error:
                    yield self._failed(error)
                else:
                    changed = changed or new
                    yield self._installed(profile, bundle, new, pnpm)
            yield from self._others(bundle, chosen)
            self._remove_unused()
        if changed:
            yield Line(self.words.start_again)

    def uninstall(self, names: Sequence[str], dsh_path: Path | None) -> Iterator[Line]:
        """Takes the plugin out of the named profiles, or of each that has it; the sessions' states stay.

        Neither dsh nor pnpm is needed. Where they are there, pnpm keeps its own books right.

        :raises CommandError: nothing could be begun.
        """
        chosen: list[Profile] = []
        silent = not names
        for profile in self._check(names or PROFILES):
            try:
                there = profile.exists() and profile.mentions_plugin()
            except TROUBLE as error:
                silent = False
                asked = bool(names) or profile.may_hold_plugin()
                yield self._failed(error) if asked else self._passed_by(error)
                continue
            if there:
                chosen.append(profile)
            elif names:
                yield Line(self.words.not_installed.format(profile=profile.name))
        if not chosen and silent:
            yield Line(self.words.not_installed_anywhere)
        if not chosen and not self.home.data.is_dir():
            return
        removed = False
        with self._alone():
            dsh = find_dsh(dsh_path, self.home.path, self.words)
            for profile in chosen:
                try:
                    self._take_out(profile, dsh)
                except TROUBLE as error:
                    yield self._failed(error)
                else:
                    removed = True
                    yield Line(self.words.removed.format(profile=profile.name))
            self._remove_unused()
        if removed and self.home.sessions.is_dir():
            yield Line(self.words.data_stays.format(path=self.home.sessions))

    def _failed(self, error: CommandError | OSError) -> Line:
        return Line(sentence_of(error, self.words), "failed")

    def _passed_by(self, error: CommandError | OSError) -> Line:
        return Line(sentence_of(error, self.words), "passed_by")

    def _installed(self, profile: Profile, bundle: Bundle, new: bool, pnpm: Dsh | None) -> Line:
        if not new:
            said = self.words.installed_already
        else:
            said = self.words.installed_without_pnpm if pnpm is None else self.words.installed_with_pnpm
        return Line(said.format(version=bundle.version, profile=profile.name))

    def _check(self, names: Sequence[str]) -> list[Profile]:
        for name in names:
            if name.lower() == "desktop":
                raise CommandError(self.words.desktop)
            if name not in PROFILES:
                raise CommandError(self.words.unknown_profile.format(profile=name))
        return [Profile(name, self.home.profiles / name, self.words) for name in dict.fromkeys(names)]

    def _spec(self, bundle: Bundle) -> str:
        """Where profiles take a bundle from, as pnpm records it too."""
        return f"file:{self.home.bundles / bundle.folder_name}"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One installation at a time for a home, by a lock that ends with its process."""
        self.home.data.mkdir(parents=True, exist_ok=True)
        self.home.data.chmod(0o700)
        lock = FileLock(self.home.data / "install.lock", timeout=LOCK_WAIT_S)
        try:
            lock.acquire()
        except Timeout as error:
            raise CommandError(self.words.install_running.format(path=lock.lock_file)) from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _held(self, profile: Profile) -> Iterator[None]:
        try:
            with host_lock(profile.path):
                yield
        except LockHeldError as error:
            raise CommandError(self.words.profile_busy.format(profile=profile.name, path=error.path)) from error

    def _make(self, profile: Profile, dsh: Dsh | None) -> None:
        """A profile that isn't there yet is made by DSH itself: one of its own subcommands does so first of all."""
        if profile.exists():
            profile.manifest()
            return
        if dsh is None:
            raise CommandError(self.words.no_profile.format(profile=profile.name))
        ran = dsh.plugin(profile.name, "version-exemptions")
        if not ran.ok or not profile.exists():
            raise CommandError(self.words.profile_not_made.format(profile=profile.name, detail=ran.said))

    def _put_in(self, profile: Profile, bundle: Bundle, pnpm: Dsh | None) -> None:
        """Whatever ends this before it is done, a signal included, the profile has of ours what it had before."""
        spec = self._spec(bundle)
        with self._held(profile):
            before = profile.snapshot()
        try:
            with self._held(profile):
                profile.remember()
                if pnpm is None:
                    profile.put_in(bundle, spec)
            if pnpm is not None:
                self._add(profile, bundle, spec, pnpm)
        except BaseException:
            with self._held(profile):
                before.put_back()
            raise

    def _add(self, profile: Profile, bundle: Bundle, spec: str, pnpm: Dsh) -> None:
        """Through pnpm: a copy that is there is removed first, since pnpm keeps it where the name is the same."""
        steps = [("remove", NAME)] if profile.manifest().spec is not None else []
        for step in (*steps, ("add", spec)):
            ran = pnpm.plugin(profile.name, *step)
            if not ran.ok:
                raise CommandError(self.words.pnpm_failed.format(profile=profile.name, detail=ran.said))
        if not profile.holds(bundle.files, spec):
            raise CommandError(self.words.not_as_shipped.format(profile=profile.name))

    def _take_out(self, profile: Profile, dsh: Dsh | None) -> None:
        try:
            if dsh is not None and profile.is_pnpms() and has_pnpm(self.home.path, os.environ):
                dsh.plugin(profile.name, "remove", NAME)
        finally:
            # What pnpm has left undone, failing or cut short too.
            with self._held(profile):
                profile.take_out()

    def _write_runtime(self, version: str) -> None:
        runtime = Runtime(str(Path(sys.executable).absolute()), ARGS, version)
        write_file(self.home.runtime, msgspec.json.encode(runtime) + b"\n", 0o600)

    def _others(self, bundle: Bundle, chosen: Sequence[Profile]) -> Iterator[Line]:
        """Profiles that still have other files than the sidecar's."""
        for profile in self._check([name for name in PROFILES if name not in {each.name for each in chosen}]):
            copy = profile.plugin / MANIFEST
            try:
                if not (profile.exists() and copy.is_file()) or profile.holds(bundle.files, self._spec(bundle)):
                    continue
                version = decode(copy.read_bytes(), copy, self.words).fields.get("version")
            except TROUBLE as error:
                yield self._passed_by(error)
            else:
                yield Line(self.words.other_version.format(profile=profile.name, version=version))

    def _remove_unused(self) -> None:
        """Takes away the copies that no profile refers to; one that is referred to must stay, or pnpm fails there.

        Profiles of any name count, and one that can't be read counts as referring to all.
        """
        if not self.home.bundles.is_dir():
            return
        kept = set()
        for path in self.home.profiles.glob(f"*/{MANIFEST}"):
            try:
                kept.add(decode(path.read_bytes(), path, self.words).spec)
            except TROUBLE:
                return
        for folder in self.home.bundles.iterdir():
            if f"file:{folder}" not in kept:
                remove(folder)
        if not any(self.home.bundles.iterdir()):
            self.home.bundles.rmdir()
            remove(self.home.runtime)
