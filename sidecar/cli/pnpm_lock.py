"""pnpm's own book of a profile, `pnpm-lock.yaml`: whether two of them differ by one package alone."""

from __future__ import annotations


def facts_of_others(lock: bytes, name: str) -> list[bytes]:
    """The lines that say something of other packages than `name`.

    A package stands as a key, with what is said of it indented below. Headings, which come and go with what stands
    below them, and pnpm's own settings above the packages say nothing of a package.
    """
    facts = []
    ours: int | None = None
    listed = False
    for line in lock.splitlines():
        key = line.strip()
        indent = len(line) - len(line.lstrip())
        listed = listed or key == b"importers:"
        if not key or (ours is not None and indent > ours):
            continue
        ours = indent if key.strip(b"'\"").startswith((f"{name}:".encode(), f"{name}@".encode())) else None
        if ours is None and listed and not key.endswith((b":", b": {}")):
            facts.append(key)
    return facts
