"""The page's default is ``auto``, once its trials were made here for the settings that the form opens with."""

from dsbd.errors import SettingsError
from dsbd.settings import AUTO, DecodingSettings

from ..asked.form import FIELDS, is_read, settings_of, values_of
from ..engine import Engine

SAID = "Guesses is auto: Run uses the forest that was measured to be fastest here."


def with_auto(engine: Engine, pair: str, settings: DecodingSettings) -> DecodingSettings | None:
    """The settings with guesses on ``auto``, if a plan for them is known and drafts; else None.

    Nothing is measured, and no pair is loaded.

    Args:
        engine: of the page.
        pair: key of the pair that would run.
        settings: what the form would show.
    """
    if not is_read(settings.method, "forest"):
        return None
    values = [
        AUTO if field.name == "forest" else value for field, value in zip(FIELDS, values_of(settings), strict=True)
    ]
    try:
        asked = settings_of(settings.method, values)
    except SettingsError:  # a recording may hold what the form cannot ask for
        return None
    plan = engine.known_plan(asked, pair)
    return asked if plan is not None and plan.values["draft_depth"] else None
