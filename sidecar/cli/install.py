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
from foldstate.sidecar.cli.failure import CommandError
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


class Runtime(Struct, frozen=True):
    """How the plugin starts the sidecar: written by the installation that it belongs to."""

    interpreter: str
    args: tuple[str, ...]
    version: str


class Installer(Struct, frozen=True):
    """Installs for one home. `say` is given a line for each thing done."""

    home: Home
    words: Words

    def install(self, names: Sequence[str], dsh_path: Path | None) -> Iterator[str]:
        """Puts the shipped plugin into each profile; yields what was done, a line each.

        :raises CommandError: a profile couldn't be changed; it is as it was, and those before it are done.
        """
        chosen = self._check(names)
        bundle = shipped(self.words)
        with self._alone():
            dsh = find_dsh(dsh_path, self.home.path, self.words)
            pnpm = dsh if dsh is not None and has_pnpm(self.home.path, os.environ) else None
            for profile in chosen:
                self._make(profile, dsh)
            bundle.publish(self.home.bundles / bundle.version)
            self._write_runtime(bundle.version)
            changed = False
            for profile in chosen:
                if profile.holds(bundle.files, self._spec(bundle)):
                    yield self.words.installed_already.format(version=bundle.version, profile=profile.name)
                    continue
                self._put_in(profile, bundle, pnpm)
                changed = True
                said = self.words.installed_without_pnpm if pnpm is None else self.words.installed_with_pnpm
                yield said.format(version=bundle.version, profile=profile.name)
            yield from self._others(bundle, chosen)
            self._remove_unused()
        if changed:
            yield self.words.start_again

    def uninstall(self, names: Sequence[str], dsh_path: Path | None) -> Iterator[str]:
        """Takes the plugin out of the named profiles, or of each that has it; the sessions' states stay.

        Neither dsh nor pnpm is needed. Where they are there, pnpm keeps its own books right.

        :raises CommandError: a profile couldn't be changed; it is as it was, and those before it are done.
        """
        chosen = [
            profile for profile in self._check(names or PROFILES) if profile.exists() and profile.mentions_plugin()
        ]
        for name in names:
            if name not in {profile.name for profile in chosen}:
                yield self.words.not_installed.format(profile=name)
        if not chosen and not names:
            yield self.words.not_installed_anywhere
        if not self.home.data.is_dir():
            return
        with self._alone():
            dsh = find_dsh(dsh_path, self.home.path, self.words)
            for profile in chosen:
                if dsh is not None and profile.is_pnpms() and has_pnpm(self.home.path, os.environ):
                    # What this leaves undone, failing too, is done next.
                    dsh.plugin(profile.name, "remove", NAME)
                with self._held(profile):
                    profile.take_out()
                yield self.words.removed.format(profile=profile.name)
            self._remove_unused()
        if chosen and self.home.sessions.is_dir():
            yield self.words.data_stays.format(path=self.home.sessions)

    def _check(self, names: Sequence[str]) -> list[Profile]:
        for name in names:
            if name.lower() == "desktop":
                raise CommandError(self.words.desktop)
            if name not in PROFILES:
                raise CommandError(self.words.unknown_profile.format(profile=name))
        return [Profile(name, self.home.profiles / name, self.words) for name in dict.fromkeys(names)]

    def _spec(self, bundle: Bundle) -> str:
        """Where profiles take a bundle from, as pnpm records it too."""
        return f"file:{self.home.bundles / bundle.version}"

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
        spec = self._spec(bundle)
        with self._held(profile):
            profile.remember()
            if pnpm is None:
                profile.put_in(bundle, spec)
                return
            before = profile.snapshot()
        failure = self._add(profile, bundle, spec, pnpm)
        if failure is not None:
            with self._held(profile):
                before.put_back()
            raise CommandError(failure)

    def _add(self, profile: Profile, bundle: Bundle, spec: str, pnpm: Dsh) -> str | None:
        """Through pnpm: a copy that is there is removed first, since pnpm keeps it where the name is the same.

        Returns why it failed.
        """
        steps = [("remove", NAME)] if profile.manifest().spec is not None else []
        for step in (*steps, ("add", spec)):
            ran = pnpm.plugin(profile.name, *step)
            if not ran.ok:
                return self.words.pnpm_failed.format(profile=profile.name, detail=ran.said)
        return None if profile.holds(bundle.files, spec) else self.words.not_as_shipped.format(profile=profile.name)

    def _write_runtime(self, version: str) -> None:
        runtime = Runtime(str(Path(sys.executable).absolute()), ("-m", "foldstate.sidecar"), version)
        write_file(self.home.runtime, msgspec.json.encode(runtime) + b"\n", 0o600)

    def _others(self, bundle: Bundle, chosen: Sequence[Profile]) -> Iterator[str]:
        """Profiles that still have other files than the sidecar's."""
        for profile in self._check([name for name in PROFILES if name not in {each.name for each in chosen}]):
            copy = profile.plugin / MANIFEST
            if not (profile.exists() and copy.is_file()) or profile.holds(bundle.files, self._spec(bundle)):
                continue
            version = decode(copy.read_bytes(), copy, self.words).fields.get("version")
            yield self.words.other_version.format(profile=profile.name, version=version)

    def _remove_unused(self) -> None:
        """Takes away the versions that no profile refers to; one that is referred to must stay, or pnpm fails there.

        Profiles of any name count, and one that can't be read counts as referring to all.
        """
        if not self.home.bundles.is_dir():
            return
        kept = set()
        for path in self.home.profiles.glob(f"*/{MANIFEST}"):
            try:
                kept.add(decode(path.read_bytes(), path, self.words).spec)
            except CommandError:
                return
        for folder in self.home.bundles.iterdir():
            if f"file:{folder}" not in kept:
                remove(folder)
        if not any(self.home.bundles.iterdir()):
            self.home.bundles.rmdir()
            remove(self.home.runtime)
