"""An unmodified Hugging Face causal language model, behind the one call that the decoder makes."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import torch
from transformers import Cache, DynamicCache

from dsbd.machine import SMALL
from dsbd.memory.reading import Memory
from dsbd.models.cache import ForestCache, LayerShape
from dsbd.results import ShortRepr

Masks = dict[str, torch.Tensor]
Runner = TypeVar("Runner")


@dataclass(frozen=True, repr=False)
class LanguageModel(ShortRepr):
    """A causal model, with the facts about it that the decoder needs."""

    model: Any
    id: str
    attention: str = "forest"
    """How the paths of a forest are kept apart: the first of these that is right for the model.

    - ``forest``: one KV cache holds all beams;
    - ``states``: a row of a batch for each path, with a separate cache;
    - ``steps``: the same, token by token;
    - ``paths``: a row for each path, computed from its first token each time.
    """
    vocabulary_limit: int | None = None
    """Number of columns of the logits that are tokens of the pair, if the model pads its vocabulary."""
    engine: str = "eager"
    """How forwards run: a name of ``ENGINES``; ``auto`` until a pair is made."""
    weights: str = "float"
    """``int8``: the engine ``onnx`` runs the model rounded to eight bits, which has a distribution of its own."""
    memory: Memory | None = None
    """What reads prompts beyond the context; None if nothing does."""
    runners: dict[type, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What the engines keep with this model, by class; a changed copy of the model begins without."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along: the engines make what they keep again."""
        return vars(self) | {"runners": {}}

    def runner(self, kind: type[Runner]) -> Runner:
        """Return what an engine keeps with this model: made at the first call, and freed with the model."""
        if kind not in self.runners:
            self.runners[kind] = kind(self)  # type: ignore[call-arg]
        return self.runners[kind]

    @cached_property
    def device(self) -> torch.device:
        """Return the device of the inputs. For an offloaded embedding, its hook names the device."""
        embedding = self.model.get_input_embeddings()
        named = getattr(getattr(embedding, "_hf_hook", None), "execution_device", None)
        return embedding.weight.device if named is None else torch.device(named)

    @property
    def revision(self) -> str | None:
        """Return the hub's commit that the model was loaded from; None if it is unknown."""
        return getattr(self.model.config, "_commit_hash", None)

    @cached_property
    def is_hooked(self) -> bool:
        """Return True if hooks move inputs or weights between devices while the model runs (accelerate's dispatch)."""
        return any(hasattr(module, "_hf_hook") for module in self.model.modules())

    @cached_property
    def is_small(self) -> bool:
        """Return True if a forward on a CPU is so little work that one thread does it fastest."""
        return int(self.model.num_parameters()) < SMALL

    @property
    def dtype(self) -> torch.dtype:
        return self.model.dtype

    @property
    def numbers(self) -> str:
        """Return the name of what the weights are in: a dtype, or ``int8``."""
        return self.weights if self.weights != "float" else str(self.dtype).removeprefix("torch.")

    @cached_property
    def config(self) -> Any:
        """Return the configuration of the text model."""
        return self.model.config.get_text_config(decoder=True)

    @property
    def vocabulary_size(self) -> int:
        """Return the number of columns of the logits."""
        return self.vocabulary_limit or int(self.config.vocab_size)

    @property
    def context_size(self) -> int | None:
        """Return the number of positions that the configuration allows; None if it does not say."""
        size = getattr(self.config, "max_position_embeddings", None) or getattr(self.config, "n_positions", None)
        sizes = [int(one) for one in (size, self.turning_point) if one and one > 0]
        return min(sizes, default=None)

    @cached_property
    def turning_point(self) -> int | None:
        """Return the length up to which rotations stay as they are (longrope); None if they always do.

        Keys in a cache keep their rotation, and the longest path of a forest would set that of all others.
        """
        ropes = getattr(self.config, "rope_parameters", None) or {}
        kinds = [ropes, *(one for one in ropes.values() if isinstance(one, dict))]  # one for each type of layer
        sizes = [one["original_max_position_embeddings"] for one in kinds if one.get("rope_type") == "longrope"]
        return min(sizes, default=None)

    @cached_property
    def windows(self) -> dict[str, int | None]:
        """Return the attention window in tokens of each layer type; None is no window.

        A model with several layer types takes one mask for each.
        """
        window = getattr(self.config, "sliding_window", None)
        if getattr(self.config, "use_sliding_window", True) is False:
            window = None
        kinds = set(getattr(self.config, "layer_types", None) or ())
        if not kinds:
            kinds = {"sliding_attention"} if window else {"full_attention"}
        return {kind: window if kind == "sliding_attention" else None for kind in sorted(kinds)}

    @cached_property
    def _accepts(self) -> frozenset[str]:
        return frozenset(inspect.signature(self.model.forward).parameters)

    @cached_property
    def _cache_name(self) -> str:
        """Return the argument that takes the cache: ``cache`` since transformers 5.24, before it one of two others."""
        return next((name for name in ("cache", "cache_params") if name in self._accepts), "past_key_values")

    @property
    def takes_embeddings(self) -> bool:
        """Return True if the model takes input embeddings in place of ids."""
        return "inputs_embeds" in self._accepts

    def embed(self, tokens: Sequence[int]) -> torch.Tensor:
        """Return the input embeddings [1, n, hidden] of ids."""
        ids = torch.tensor([list(tokens)], dtype=torch.int64, device=self.device)
        return self.model.get_input_embeddings()(ids)

    def behind(self, prefix: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Return input embeddings [batch, 1 + n, hidden]: a prefix [hidden], then those of ids [batch, n]."""
        embedded = self.model.get_input_embeddings()(tokens)
        return torch.cat([prefix.expand(len(tokens), 1, -1), embedded], dim=1)

    def hidden_states(self, embeddings: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states of input embeddings, both [batch, n, hidden]; causal, positions from 0."""
        return self.model.base_model(inputs_embeds=embeddings, use_cache=False).last_hidden_state

    @cached_property
    def layer_shapes(self) -> list[LayerShape]:
        """Return the shapes of the keys and values of each layer, found by a forward of one token."""
        cache: Any = DynamicCache()
        with torch.inference_mode():
            self.forward(torch.zeros(1, 1, dtype=torch.int64, device=self.device), cache=cache)
        parts = [(layer.keys, layer.values) for layer in cache.layers]
        return [LayerShape(keys.shape[1::2], values.shape[1::2], keys.dtype, keys.device) for keys, values in parts]

    def new_cache(self, slots: int = 0) -> ForestCache:
        """Return an empty KV cache with room for ``slots`` slots."""
        return ForestCache(self.layer_shapes, slots)

    def new_states(self) -> DynamicCache:
        """Return an empty cache of the kinds that the layers need, for a batch with a row for each path."""
        return DynamicCache(config=self.config)

    def forward(
        self,
        tokens: torch.Tensor,
        *,
        positions: torch.Tensor | None = None,
        masks: Masks | None = None,
        cache: Cache | None = None,
        last_only: bool = False,
    ) -> torch.Tensor:
        """Return the logits after each token.

        Args:
            tokens: ids [batch, n], int64; or input embeddings [batch, n, hidden] in the model's dtype.
            positions: [batch, n], int64; None counts from 0.
            masks: for each layer type an additive mask [1, 1, n, slots] in the model's dtype (0 = seen, minimum = not
                seen); None is causal.
            cache: what the tokens' keys and values are appended to.
            last_only: return only the last token's logits, if the model can.

        Returns:
            [batch, n or 1, vocabulary], in the model's dtype.
        """
        mask = masks if masks is None or len(masks) > 1 else next(iter(masks.values()))
        inputs: dict[str, Any] = {
            self._cache_name: cache,
            "inputs_embeds" if tokens.is_floating_point() else "input_ids": tokens,
        }
        if positions is not None and "position_ids" in self._accepts:
            inputs["position_ids"] = positions
        if last_only and "logits_to_keep" in self._accepts:
            inputs["logits_to_keep"] = 1
        logits: torch.Tensor = self.model(attention_mask=mask, use_cache=cache is not None, **inputs).logits
        return logits if self.vocabulary_limit is None else logits[..., : self.vocabulary_limit]
