"""The plugin's files as this installation ships them, and their copy that stays under DSH's home."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from foldstate.sidecar.cli.failure import CommandError
from foldstate.sidecar.cli.files import keep_folder
from foldstate.sidecar.cli.words import Words

NAME: Final = "dsh-foldstate"
"""The plugin's name as an npm package, which is its name in a profile too."""

MANIFEST: Final = "package.json"


class _HostPart(Struct):
    class _Bundle(Struct):
        patch: str

    bundle: _Bundle


class _Manifest(Struct):
    """What is read of the plugin's own package.json."""

    name: str
    version: str
    exports: dict[str, str]
    dsh: _HostPart = field()


class Bundle(Struct, frozen=True):
    """A complete set of the plugin's files by name. They lie in one folder, without sub-folders."""

    version: str
    files: Mapping[str, bytes]

    @property
    def folder_name(self) -> str:
        """Names its content: other files are another folder, so that no profile's folder is ever replaced."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\n{len(content)}\n".encode() + content)
        return f"{self.version}-{digest.hexdigest()[:12]}"

    def publish(self, bundles: Path) -> None:
        """Makes its folder under `bundles` hold it whole; what is right there already is left alone."""
        keep_folder(bundles / self.folder_name, self.files)


def shipped(words: Words) -> Bundle:
    """The bundle that came with this installation.

    :raises CommandError: a file that its package.json names is missing.
    """
    found = {
        entry.name: entry.read_bytes()
        for entry in (files("foldstate") / "bridge").iterdir()
        if entry.is_file() and (entry.name == MANIFEST or entry.name.endswith((".js", ".patch.yml")))
    }
    if MANIFEST not in found:
        raise CommandError(words.bundle_incomplete.format(file=MANIFEST))
    manifest = msgspec.json.decode(found[MANIFEST], type=_Manifest)
    for path in (*manifest.exports.values(), manifest.dsh.bundle.patch):
        if path.removeprefix("./") not in found:
            raise CommandError(words.bundle_incomplete.format(file=path.removeprefix("./")))
    return Bundle(version=manifest.version, files=found)
