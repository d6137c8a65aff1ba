"""Pairs of public models that share a vocabulary, with facts to know before fetching them.

Parameters are counted from the configurations, tied ones once. The bytes in memory follow from them.

Licences were read on the models' pages of the hub. For Qwen3 and Llama-2 only pages of derived models were seen, so the
licence is marked as not confirmed; the gate of Llama-2 was not seen either.
"""

from typing import NamedTuple


class PresetModel(NamedTuple):
    """A model on the Hugging Face hub."""

    id: str
    parameters: int
    rows: int
    """Columns of the logits: entries of the vocabulary with padding."""
    licence: str
    gated: bool = False
    """The licence must be accepted on the model's page before files can be fetched."""
    pickled: bool = False
    """The weights exist as pickles only; they are read as tensors, and no code in them runs."""
    confirmed: bool = True
    """The licence was read on the model's page, not only on pages of derived models."""


class Preset(NamedTuple):
    """A pair of such models."""

    draft: PresetModel
    target: PresetModel

    @property
    def models(self) -> tuple[PresetModel, PresetModel]:
        """Target and draft."""
        return self.target, self.draft

    @property
    def vocabulary(self) -> str:
        """The number of columns of each, in words."""
        if self.target.rows == self.draft.rows:
            return f"{self.target.rows:,}, both"
        return f"{self.target.rows:,} and {self.draft.rows:,}: padded differently"

    @property
    def licences(self) -> str:
        """Their licences, in words."""
        told = (model.licence if model.confirmed else f"{model.licence} (not confirmed)" for model in self.models)
        return " and ".join(dict.fromkeys(told))

    @property
    def gated(self) -> str:
        """Which of them are gated: no, target, draft or both."""
        names = {(True, True): "both", (True, False): "target", (False, True): "draft", (False, False): "no"}
        return names[self.target.gated, self.draft.gated]


_APACHE = "Apache-2.0"
_OPT = "OPT-175B, not commercial"
PRESETS = (
    Preset(
        PresetModel("HuggingFaceTB/SmolLM2-135M", 134_515_008, 49_152, _APACHE),
        PresetModel("HuggingFaceTB/SmolLM2-1.7B", 1_711_376_384, 49_152, _APACHE),
    ),
    Preset(
        PresetModel("Qwen/Qwen3-0.6B", 596_049_920, 151_936, _APACHE, confirmed=False),
        PresetModel("Qwen/Qwen3-8B", 8_190_735_360, 151_936, _APACHE, confirmed=False),
    ),
    Preset(
        PresetModel("Qwen/Qwen2.5-0.5B", 494_032_768, 151_936, _APACHE),
        PresetModel("Qwen/Qwen2.5-7B", 7_615_616_512, 152_064, _APACHE),
    ),
    Preset(
        PresetModel("meta-llama/Llama-3.2-1B", 1_235_814_400, 128_256, "Llama 3.2 Community", gated=True),
        PresetModel("meta-llama/Llama-3.1-8B", 8_030_261_248, 128_256, "Llama 3.1 Community", gated=True),
    ),
    Preset(
        PresetModel("JackFram/llama-68m", 68_030_208, 32_000, _APACHE, pickled=True),
        PresetModel("meta-llama/Llama-2-13b-hf", 13_015_864_320, 32_000, "Llama 2 Community", True, confirmed=False),
    ),
    Preset(
        PresetModel("facebook/opt-125m", 125_239_296, 50_272, _OPT, pickled=True),
        PresetModel("facebook/opt-13b", 12_853_473_280, 50_272, _OPT, pickled=True),
    ),
    Preset(
        PresetModel("openai-community/gpt2", 124_439_808, 50_257, "MIT"),
        PresetModel("openai-community/gpt2-xl", 1_557_611_200, 50_257, "MIT"),
    ),
    Preset(
        PresetModel("EleutherAI/pythia-70m", 70_426_624, 50_304, _APACHE),
        PresetModel("EleutherAI/pythia-1.4b", 1_414_647_808, 50_304, _APACHE),
    ),
)
