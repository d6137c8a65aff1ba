"""Dynamic-width speculative beam decoding (Qin et al., AAAI 2025, arXiv 2409.16560).

    import dsbd
    pair = dsbd.load_pair()
    result = dsbd.decode(pair, "Once upon a time")

Names are loaded when they are first used, so that reading a trace needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dsbd.version import __version__

if TYPE_CHECKING:
    from dsbd.api import decode, decode_many, stream
    from dsbd.custom_generate import generate
    from dsbd.drafts.history import History
    from dsbd.drafts.source import DraftRecord, DraftSource, top_tokens
    from dsbd.errors import DsbdError, ModelError, PairError, PromptError, SettingsError, StoppedError, TraceError
    from dsbd.models.loading import load_pair
    from dsbd.models.making import make_pair
    from dsbd.models.pair import Pair
    from dsbd.results import DecodedBeam, DecodingResult, Stats
    from dsbd.session import Observer, Update
    from dsbd.settings import METHODS, DecodingSettings
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

_NAMES = {
    "dsbd.api": ("decode", "decode_many", "stream"),
    "dsbd.custom_generate": ("generate",),
    "dsbd.drafts.history": ("History",),
    "dsbd.drafts.source": ("DraftRecord", "DraftSource", "top_tokens"),
    "dsbd.errors": (
        "DsbdError", "ModelError", "PairError", "PromptError", "SettingsError", "StoppedError", "TraceError"
    ),
    "dsbd.models.loading": ("load_pair",),
    "dsbd.models.making": ("make_pair",),
    "dsbd.models.pair": ("Pair",),
    "dsbd.session": ("Observer", "Update"),
    "dsbd.results": ("DecodedBeam", "DecodingResult", "Stats"),
    "dsbd.settings": ("METHODS", "DecodingSettings"),
    "dsbd.tracing.audit": ("verify_trace",),
    "dsbd.tracing.trace": ("Trace",),
}  # fmt: skip
_HOME = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "METHODS", "DecodedBeam", "DecodingResult", "DecodingSettings", "DraftRecord", "DraftSource", "DsbdError",
    "History", "ModelError", "Observer", "Pair", "PairError", "PromptError", "SettingsError", "Stats", "StoppedError",
    "Trace", "TraceError", "Update", "decode", "decode_many", "generate", "load_pair", "make_pair", "stream",
    "top_tokens", "verify_trace",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dsbd' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
