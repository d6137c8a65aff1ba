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
    from dsbd.api import DecodingResult, Update, decode, stream
    from dsbd.custom_generate import generate
    from dsbd.errors import DsbdError, ModelError, PairError, PromptError, SettingsError, StoppedError, TraceError
    from dsbd.evaluation.evaluation import evaluate
    from dsbd.models.loading import load_pair
    from dsbd.models.making import make_pair
    from dsbd.models.pair import Pair
    from dsbd.observer import Observer
    from dsbd.results import DecodedBeam, Stats
    from dsbd.settings import METHODS, DecodingSettings
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

_HOME = {
    "DecodedBeam": "dsbd.results",
    "DecodingResult": "dsbd.api",
    "DecodingSettings": "dsbd.settings",
    "DsbdError": "dsbd.errors",
    "METHODS": "dsbd.settings",
    "ModelError": "dsbd.errors",
    "Observer": "dsbd.observer",
    "Pair": "dsbd.models.pair",
    "PairError": "dsbd.errors",
    "PromptError": "dsbd.errors",
    "SettingsError": "dsbd.errors",
    "Stats": "dsbd.results",
    "StoppedError": "dsbd.errors",
    "Trace": "dsbd.tracing.trace",
    "TraceError": "dsbd.errors",
    "Update": "dsbd.api",
    "decode": "dsbd.api",
    "evaluate": "dsbd.evaluation.evaluation",
    "generate": "dsbd.custom_generate",
    "load_pair": "dsbd.models.loading",
    "make_pair": "dsbd.models.making",
    "stream": "dsbd.api",
    "verify_trace": "dsbd.tracing.audit",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dsbd' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
