"""One profile of DSH's: whether our plugin is in it, and putting it in and taking it out without pnpm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from foldstate.sidecar.cli.bundle import MANIFEST, NAME, Bundle
from foldstate.sidecar.cli.files import clear_unfinished, read_folder, remove, replace_folder, write_file
from foldstate.sidecar.cli.manifest import Manifest, decode
from foldstate.sidecar.cli.pnpm_lock import facts_of_others
from foldstate.sidecar.cli.words import Words

BEFORE = f"{MANIFEST}.before-foldstate"
"""The profile's package.json as it was before our first change, with its permission bits; kept until we leave."""

PNPM_LOCK = "pnpm-lock.yaml"


class Profile(Struct, frozen=True):
    """A profile's folder. Whoever changes it holds its lock (`host_lock`), or lets `dsh plugin` take that."""

    name: str
    folder: Path
    words: Words

    @property
    def path(self) -> Path:
        return self.folder / MANIFEST

    @property
    def plugin(self) -> Path:
        """Where the plugin is loaded from."""
        return self.folder / "node_modules" / NAME

    def exists(self) -> bool:
        return self.path.is_file()

    def manifest(self) -> Manifest:
        """:raises CommandError: the file can't be read as what DSH writes."""
        return decode(self.path.read_bytes(), self.path, self.words)

    def holds(self, files: Mapping[str, bytes], spec: str) -> bool:
        """Whether exactly these files are loaded from here, and from nowhere else."""
        manifest = self.manifest()
        return manifest.spec == spec and manifest.enabled and read_folder(self.plugin) == files

    def mentions_plugin(self) -> bool:
        """Whether anything of ours is in the profile, a copy of its package.json included."""
        manifest = self.manifest()
        left = self.plugin.exists() or (self.folder / BEFORE).is_file()
        return manifest.spec is not None or manifest.enabled or left

    def may_hold_plugin(self) -> bool:
        """Whether anything of ours seems to be in a profile whose package.json can't be read as it should be."""
        try:
            named = NAME.encode() in self.path.read_bytes()
        except OSError:
            named = True
        return named or self.plugin.exists() or (self.folder / BEFORE).is_file()

    def is_pnpms(self) -> bool:
        """Whether pnpm has our plugin in its books."""
        lock = self.folder / PNPM_LOCK
        return lock.is_file() and NAME.encode() in lock.read_bytes()

    def remember(self) -> None:
        """Keeps package.json as it is before our plugin first comes in. DSH can't read a byte-order mark: it goes.

        A copy that still says the same stays: an upgrade that was cut short can have taken our entries out.
        """
        manifest = self.manifest()
        raw = self.path.read_bytes()
        if manifest.spec is None and not manifest.enabled and self._found() is None:
            write_file(self.folder / BEFORE, raw, self._mode())
        if raw.startswith(b"\xef\xbb\xbf"):
            write_file(self.path, raw[3:], self._mode())

    def put_in(self, bundle: Bundle, spec: str) -> None:
        """The files first, then the entries that load them: a crash between leaves a profile that works as before."""
        replace_folder(self.plugin, bundle.files)
        write_file(self.path, self.manifest().with_plugin(spec).encode(), self._mode())

    def take_out(self) -> None:
        """Leaves package.json byte for byte as it was found, unless others changed it: then only our entries go."""
        before = self.folder / BEFORE
        found = self._found()
        if found is None:
            write_file(self.path, self.manifest().without_plugin().encode(), self._mode())
        else:
            write_file(self.path, found, before.stat().st_mode & 0o777)
        remove(self.plugin)
        self.clear()
        modules = self.plugin.parent
        if modules.is_dir() and not any(modules.iterdir()):
            modules.rmdir()
        remove(before)

    def clear(self) -> None:
        """Takes away what an installation of ours that was killed has left unfinished."""
        clear_unfinished(self.plugin.parent)

    def snapshot(self) -> Snapshot:
        """:raises CommandError: package.json can't be read as what DSH writes."""
        lock = self.folder / PNPM_LOCK
        return Snapshot(
            profile=self,
            found=self.manifest(),
            raw=self.path.read_bytes(),
            mode=self._mode(),
            lock=(lock.read_bytes(), lock.stat().st_mode & 0o777) if lock.is_file() else None,
            plugin=read_folder(self.plugin),
            remembered=(self.folder / BEFORE).is_file(),
        )

    def _found(self) -> bytes | None:
        """The kept copy, where package.json differs from it by nothing but our entries."""
        before = self.folder / BEFORE
        if not before.is_file():
            return None
        raw = before.read_bytes()
        same = decode(raw, before, self.words).without_plugin() == self.manifest().without_plugin()
        return raw if same else None

    def _mode(self) -> int:
        return self.path.stat().st_mode & 0o777


class Snapshot(Struct, frozen=True):
    """What an installation may change of a profile, to put back when it fails or is cut short.

    While pnpm runs we don't hold the profile's lock: what others changed meanwhile stays, and only ours is put back.
    """

    profile: Profile
    found: Manifest
    raw: bytes
    mode: int
    lock: tuple[bytes, int] | None
    plugin: dict[str, bytes] | None
    remembered: bool

    def put_back(self) -> None:
        """Whoever calls this holds the profile's lock.

        :raises CommandError: package.json can't be read any more.
        """
        profile = self.profile
        now = profile.manifest()
        if now.without_plugin() != self.found.without_plugin():
            if (mended := now.with_ours_of(self.found)) != now:
                write_file(profile.path, mended.encode(), profile.path.stat().st_mode & 0o777)
        elif profile.path.read_bytes() != self.raw:
            write_file(profile.path, self.raw, self.mode)
        self._put_back_lock()
        if self.plugin is None:
            remove(profile.plugin)
        elif read_folder(profile.plugin) != self.plugin:
            replace_folder(profile.plugin, self.plugin)
        if not self.remembered:
            remove(profile.folder / BEFORE)

    def _put_back_lock(self) -> None:
        """Where it says something new of others it is left: pnpm's next run finds out itself what we have."""
        path = self.profile.folder / PNPM_LOCK
        now = path.read_bytes() if path.is_file() else b""
        before, mode = self.lock or (b"", 0)
        if now == before or facts_of_others(now, NAME) != facts_of_others(before, NAME):
            return
        if self.lock is None:
            remove(path)
        else:
            write_file(path, before, mode)
