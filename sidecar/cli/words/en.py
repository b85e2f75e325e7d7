"""The English table."""

from __future__ import annotations

from typing import Final

from foldstate.sidecar.cli.words.table import Words

EN: Final = Words(
    installed_with_pnpm="Foldstate {version} is installed in profile {profile} (through pnpm).",
    installed_without_pnpm="Foldstate {version} is installed in profile {profile} (without pnpm).",
    installed_already="Foldstate {version} is already installed in profile {profile}.",
    other_version=(
        "Profile {profile} has version {version}; run `foldstate install --profile {profile}` to bring it up to date."
    ),
    start_again="A DSH that is running takes this up when it is started again.",
    removed="Foldstate was removed from profile {profile}.",
    not_installed="Foldstate isn't installed in profile {profile}; nothing was changed there.",
    not_installed_anywhere="Foldstate isn't installed in any profile here; nothing was changed.",
    data_stays="The states of your sessions stay in {path}.",
    desktop=(
        "The profile desktop is managed by the desktop application alone and isn't supported; use web, headless or sdk."
    ),
    unknown_profile="There is no profile {profile} that Foldstate can be installed in; use web, headless or sdk.",
    no_profile=(
        "Profile {profile} doesn't exist yet, and the command dsh that would make it wasn't found; "
        "run `dsh {profile}` once, or say where dsh is with --dsh PATH."
    ),
    dsh_not_found="{path} isn't a program that can be run; give --dsh the path of the command dsh.",
    profile_not_made=(
        "dsh couldn't make profile {profile}: {detail}; "
        "run `dsh {profile}` once to see the whole message, then try again."
    ),
    manifest_unreadable=(
        "{path} can't be read as JSON ({detail}); mend it or move it away, then try again. Nothing was changed in it."
    ),
    manifest_shape="In {path}, {field} isn't what DSH expects; mend it, then try again. Nothing was changed in it.",
    pnpm_failed=(
        "pnpm couldn't change profile {profile}: {detail}; as far as Foldstate goes, the profile is as it was. "
        "Run `dsh plugin --profile {profile} install` to see the whole message, then try again."
    ),
    not_as_shipped=(
        "What pnpm put into profile {profile} isn't what Foldstate ships; "
        "as far as Foldstate goes, the profile is as it was. Install dsh-foldstate again, then try again."
    ),
    bundle_incomplete="The plugin's files in this installation lack {file}; install dsh-foldstate again.",
    install_running="Another `foldstate install` or `uninstall` holds {path}; try again when it has ended.",
    profile_busy=(
        "Another program is changing profile {profile} (it holds {path}); try again when it has ended, "
        "or remove that file if none is running."
    ),
    file_trouble="{path}: {detail}; check its permissions and the free space, then try again.",
    no_state="No session under {path} has a state yet.",
    unknown_session="No session under {path} begins with “{session}”. There are: {candidates}.",
    ambiguous_session="“{session}” is the beginning of several sessions: {candidates}. Give more of it.",
    store_newer="{path} was written by a newer Foldstate; update this one to read it.",
    store_unavailable="{path} can't be read now: {detail}; try again in a moment.",
    used="{used} of {budget}",
    checked="checked {when}",
    updated="updated {when}",
    never_checked="never checked",
    needs_you="Needs you",
    in_progress="Going on",
    done="Done",
    fyi="For your information",
    nothing_yet="Nothing to note yet. What happens in the session gathers here.",
    nothing_now="Nothing stands in the state right now.",
    quote="“{quote}” — {source}",
    from_channel="{channel}, {when}",
    stale="last known {when}, to be checked",
    not_active="{n} withdrawn or merged",
    waiting="inputs that wait to be judged: {n}",
    not_heard="{channel} hasn't been heard since {when}; silence there says nothing",
    damaged="The state's file was damaged; it is kept whole at {path}; this is a fresh start",
    sidecar_trouble="The background program didn't run at {when}: {reason}",
    bridge_trouble="errors in the host, {place}: {n}, the last: {last}",
    ago="{span} ago",
    just_now="just now",
    within="in {span}",
    late="{span} late",
    due_now="due now",
    today="today {clock}",
    this_year="{day} {month} {clock}",
    other_year="{day} {month} {year}",
    minutes="{n} min",
    hours="{n} h",
    one_day="1 day",
    days="{n} days",
    months=("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
