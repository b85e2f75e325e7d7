"""The names of all that the command line says. What stands in braces is filled in by whoever says it."""

from __future__ import annotations

from msgspec import Struct


class Words(Struct, frozen=True):
    # install, uninstall: what was done
    installed_with_pnpm: str
    installed_without_pnpm: str
    installed_already: str
    other_version: str
    start_again: str
    removed: str
    not_installed: str
    not_installed_anywhere: str
    data_stays: str

    # install, uninstall: why nothing was done
    desktop: str
    unknown_profile: str
    no_profile: str
    dsh_not_found: str
    profile_not_made: str
    manifest_unreadable: str
    manifest_shape: str
    pnpm_failed: str
    not_as_shipped: str
    bundle_incomplete: str
    install_running: str
    profile_busy: str
    file_trouble: str

    # show: why nothing is shown
    no_state: str
    unknown_session: str
    ambiguous_session: str
    store_newer: str
    store_unavailable: str

    # show: the head, the groups and the foot
    used: str
    checked: str
    updated: str
    never_checked: str
    needs_you: str
    in_progress: str
    done: str
    fyi: str
    nothing_yet: str
    nothing_now: str
    quote: str
    from_channel: str
    stale: str
    not_active: str
    waiting: str
    not_heard: str
    damaged: str
    sidecar_trouble: str
    bridge_trouble: str

    # times
    ago: str
    just_now: str
    within: str
    late: str
    due_now: str
    today: str
    this_year: str
    other_year: str
    minutes: str
    hours: str
    one_day: str
    days: str
    months: tuple[str, ...]
