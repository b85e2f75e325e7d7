"""A profile's package.json: what it says of our plugin, and the same file with our entries in it or out of it."""

from __future__ import annotations

import codecs
from pathlib import Path

import msgspec
from msgspec import Struct

from foldstate.kernel.values import Json
from foldstate.sidecar.cli.bundle import NAME
from foldstate.sidecar.cli.failure import CommandError
from foldstate.sidecar.cli.words import Words


class Manifest(Struct, frozen=True):
    """The file's JSON object. Fields that aren't ours are kept as they are, in their order."""

    fields: dict[str, Json]

    @property
    def spec(self) -> str | None:
        """Where the profile takes our plugin from, or None where it doesn't name it."""
        found = _object(self.fields.get("dependencies")).get(NAME)
        return found if isinstance(found, str) else None

    @property
    def enabled(self) -> bool:
        """Whether the profile loads our plugin."""
        return NAME in self._bundles()

    def with_plugin(self, spec: str) -> Manifest:
        bundles = [*self._bundles()]
        if NAME not in bundles:
            bundles.append(NAME)
        dependencies = {**_object(self.fields.get("dependencies")), NAME: spec}
        return self._changed(dependencies, bundles)

    def without_plugin(self) -> Manifest:
        """Without our entries. An empty list of dependencies goes too, as with pnpm."""
        dependencies = {name: at for name, at in _object(self.fields.get("dependencies")).items() if name != NAME}
        return self._changed(dependencies, [name for name in self._bundles() if name != NAME])

    def with_ours_of(self, other: Manifest) -> Manifest:
        """What is others' as it is here, our entries as `other` has them."""
        spared = self.without_plugin()
        dependencies = _object(spared.fields.get("dependencies"))
        ours: dict[str, Json] = {} if other.spec is None else {NAME: other.spec}
        return self._changed({**dependencies, **ours}, [*spared._bundles(), *([NAME] if other.enabled else [])])

    def encode(self) -> bytes:
        """As DSH writes it: two spaces, and a newline at the end."""
        return msgspec.json.format(msgspec.json.encode(self.fields), indent=2) + b"\n"

    def _bundles(self) -> list[Json]:
        found = _object(_object(self.fields.get("dsh")).get("profile")).get("bundles")
        return found if isinstance(found, list) else []

    def _changed(self, dependencies: dict[str, Json], bundles: list[Json]) -> Manifest:
        dsh = _object(self.fields.get("dsh"))
        fields: dict[str, Json] = {**self.fields, "dependencies": dependencies}
        if not dependencies:
            del fields["dependencies"]
        fields["dsh"] = {**dsh, "profile": {**_object(dsh.get("profile")), "bundles": bundles}}
        return Manifest(fields)


def decode(raw: bytes, path: Path, words: Words) -> Manifest:
    """Reads a profile's package.json; a byte-order mark before it is tolerated.

    :raises CommandError: it isn't JSON, or the parts that we must change aren't of the kind that DSH writes.
    """
    try:
        fields: Json = msgspec.json.decode(raw.removeprefix(codecs.BOM_UTF8))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CommandError(words.manifest_unreadable.format(path=path, detail=error)) from error
    if not isinstance(fields, dict):
        raise CommandError(words.manifest_shape.format(path=path, field="package.json"))
    dsh = fields.get("dsh", {})
    profile = dsh.get("profile", {}) if isinstance(dsh, dict) else None
    for field, good in (
        ("dependencies", isinstance(fields.get("dependencies", {}), dict)),
        ("dsh.profile", isinstance(profile, dict)),
        ("dsh.profile.bundles", isinstance(profile, dict) and isinstance(profile.get("bundles", []), list)),
    ):
        if not good:
            raise CommandError(words.manifest_shape.format(path=path, field=field))
    return Manifest(fields)


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
