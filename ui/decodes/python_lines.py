"""The lines of Python that repeat a decode."""

from dataclasses import fields

from dsbd.models.loading import BUNDLED
from dsbd.settings import DecodingSettings
from dsbd.tracing.trace import Trace

from ..asked.form import DEFAULTS, is_read


def python_lines(trace: Trace) -> str:
    """Return a program that makes this text and its trace again, with the resolved settings."""
    return f"""\
import dsbd

pair = dsbd.load_pair({_pair(trace)})
settings = dsbd.DecodingSettings({_settings(trace.settings)})
result = dsbd.decode(pair, {trace.prompt.text!r}, settings, record=True)
print(result.text)
result.trace.save("trace.json.gz")
"""


def _pair(trace: Trace) -> str:
    """Return the arguments of ``load_pair``: the name of a bundled pair, or the names of the models."""
    target, draft = trace.models.target.id, trace.models.draft
    if target.partition("/")[0] == BUNDLED:
        return ""
    if target.startswith(f"{BUNDLED}:"):
        return repr(target.partition("/")[0])
    return repr(target) if draft is None else f"{target!r}, {draft.id!r}"


def _settings(settings: DecodingSettings) -> str:
    given = {"method": settings.method}
    for field in fields(DecodingSettings):
        value = getattr(settings, field.name)
        if field.name != "method" and value != getattr(DEFAULTS, field.name) and is_read(settings.method, field.name):
            given[field.name] = value
    return ", ".join(f"{name}={value!r}" for name, value in given.items())
