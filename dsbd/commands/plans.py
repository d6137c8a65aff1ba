"""``plans``: see and forget the plans of ``auto`` that are kept on disk."""

import argparse
from typing import TYPE_CHECKING, Any

from dsbd.commands.parser import OK, new_command, print_json
from dsbd.errors import PlanError
from dsbd.settings import AUTO_FIELDS, DecodingSettings

if TYPE_CHECKING:
    from dsbd.auto.kept import KeptPlan


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "plans", "the plans of auto that are kept on disk", run)
    parser.add_argument("--forget", action="store_true", help="delete them: the next run with auto measures again")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code. Raises: PlanError: the folder cannot be read or written."""
    from dsbd.auto.kept import forget_plans, kept_plans, plans_folder

    try:
        folder = plans_folder()
        if parsed.forget:
            count = forget_plans()
            if parsed.json:
                print_json({"folder": str(folder), "forgotten": count})
            else:
                print(f"{count} plans forgotten in {folder}")
            return OK
        found = list(kept_plans())
    except (OSError, RuntimeError) as error:
        raise PlanError(f"the folder of the plans cannot be used: {error}; name another one in DSBD_CACHE") from None
    if parsed.json:
        print_json({"folder": str(folder), "plans": [one.model_dump(mode="json", exclude_unset=True) for one in found]})
        return OK
    print(f"{len(found)} plans in {folder}")
    for one in found:
        print()
        for line in (_heading(one), f"  {_asked(one)}", f"  {one.sentence}"):
            print("".join(filter(str.isprintable, line)))  # names come from the models' files
    return OK


def _heading(kept: "KeptPlan") -> str:
    machine, models = (kept.conditions.get(name, {}) for name in ("machine", "models"))
    pair = " + ".join(f"{model.get('id')} ({model.get('dtype')})" for model in models.values())
    where = f"{machine.get('device')}, {machine.get('threads')} threads of {machine.get('processor')}"
    return f"{kept.made:%Y-%m-%d %H:%M} UTC  {pair} on {where}"


def _asked(kept: "KeptPlan") -> str:
    """Return the settings that are not the default."""
    settings, default = DecodingSettings.from_dict(kept.settings), DecodingSettings()
    left_out = {"method", "max_new_tokens", *AUTO_FIELDS}
    given = {name: value for name, value in vars(settings).items() if name not in left_out}
    changed = [f"{name}={value}" for name, value in given.items() if value != getattr(default, name)]
    fixed = [f"{name}={getattr(settings, name)}" for name in AUTO_FIELDS]
    return " ".join([settings.method, *fixed, *changed])
