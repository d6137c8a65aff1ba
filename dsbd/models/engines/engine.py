"""What an engine is: a way to compute the forwards of a model."""

from typing import Protocol

from dsbd.models.language_model import LanguageModel
from dsbd.models.states.forest import ForestState
from dsbd.models.states.state import DecodingState
from dsbd.util import CancelCheck


class Engine(Protocol):
    """Computes the forwards of models whose beams share one KV cache. To add one:

    - **Write a state**, mostly a subclass of :class:`~dsbd.models.states.forest.ForestState` with another ``_logits``.
      It gets tokens [n], their positions [n], and for each layer type an additive mask [1, 1, n, slots]. It writes the
      tokens' keys and values into ``self.cache``, behind the slots in use, counts them (``self.cache.extend(n)``), and
      returns logits [n, vocabulary], which equal those of the model's own Python up to rounding. ``n`` and ``slots``
      differ from call to call. Attention masks, moves of kept slots and growing buffers are inherited.
    - **Keep what serves all decodes of a model** (a trace, a session, buffers) in a class that is made from a model:
      ``model.runner(KIND)`` makes it once, and it is freed with the model. Several decodes may run at the same time.
    - **Write the engine**, a class with the members below, and add it to ``ENGINES`` of ``choice.py``. ``engine_for``
      says where ``auto`` takes it.

    What holds it: when a pair is made, ``check_engine`` of ``models/check.py`` computes two iterations on small forests
    with the engine and eagerly. The root mean square error must be below ``TOLERANCE`` of the model's dtype, so a wrong
    mask, position or slot is found, and so is a size that was taken for a constant. Where the check fails or raises,
    the model runs on ``fallback``, and ``pair.fallbacks`` says why. ``tests/models/test_engines.py`` compares many more
    forests, of every family, with each path alone: add the engine to ``RUNS`` there.
    """

    fallback: str
    """The engine that a model gets where this one cannot run it; at last ``eager``."""

    def why_not(self, model: LanguageModel) -> str | None:
        """Return why the engine cannot run a model; None if it can, as far as is known without a forward."""

    def new_state(self, model: LanguageModel, slots: int, check: CancelCheck) -> DecodingState:
        """Return the state of a new decode, with room for about ``slots``; ``check`` is called before each forward."""


class Eager:
    """The model's own Python, the reference for all others."""

    fallback = "eager"

    def why_not(self, model: LanguageModel) -> str | None:
        return None

    def new_state(self, model: LanguageModel, slots: int, check: CancelCheck) -> DecodingState:
        return ForestState(model, slots, check)
