"""Pairs of public models that share a vocabulary, with what one wants to know before fetching them.

Parameters are counted from the models' configurations, without those that are tied. Bytes are computed from them: a
download has the dtype that its publisher stored, memory the dtype that is asked for.

Licences were read on the models' own pages of the hub. Where only pages of models made from it were seen (Qwen3,
Llama-2), the licence is marked as not confirmed. The gate of Llama-2 was not seen either. Sizes were compared with
the files listed there or in copies of gated models. Buffers that were stored too come on top: 6.43 GB of GPT-2 XL
instead of 6.23, 0.17 of Pythia-70M instead of 0.14. No list of files was seen of SmolLM2-135M, Qwen3, Qwen2.5-0.5B,
GPT-2 and Pythia-1.4B: their dtypes are those of their families.
"""

from typing import NamedTuple


class PresetModel(NamedTuple):
    """A model on the Hugging Face hub."""

    id: str
    parameters: int
    stored_bytes: int
    """Bytes of a stored number: 2 for bfloat16 and float16, 4 for float32."""
    rows: int
    """Columns of its logits: entries of the vocabulary, padding included."""
    licence: str
    gated: bool = False
    """Its licence must be accepted on the model's page before files can be fetched."""
    pickled: bool = False
    """Its publisher stores the weights as pickles only; they are read as tensors, and nothing in them is run."""
    confirmed: bool = True
    """Its licence was read on its own page, not only on pages of models made from it."""

    @property
    def download_bytes(self) -> int:
        """Bytes of the weights as they are stored, about."""
        return self.parameters * self.stored_bytes

    def memory_bytes(self, bytes_per_number: int) -> int:
        """Bytes of the weights in memory."""
        return self.parameters * bytes_per_number


class Preset(NamedTuple):
    """A pair of such models."""

    draft: PresetModel
    target: PresetModel

    @property
    def models(self) -> tuple[PresetModel, PresetModel]:
        """Target and draft."""
        return self.target, self.draft

    @property
    def download_bytes(self) -> int:
        """Bytes of both models, about."""
        return sum(model.download_bytes for model in self.models)

    def memory_bytes(self, bytes_per_number: int) -> int:
        """Bytes of both models' weights in memory."""
        return sum(model.memory_bytes(bytes_per_number) for model in self.models)

    @property
    def vocabulary(self) -> str:
        """Whether both have equally many columns, in words."""
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
        """Which of them are gated, in words."""
        found = [role for role, model in zip(("target", "draft"), self.models, strict=True) if model.gated]
        return {0: "no", 1: found[0] if found else "", 2: "both"}[len(found)]


_APACHE = "Apache-2.0"
_OPT = "OPT-175B, not commercial"
PRESETS = (
    Preset(
        PresetModel("HuggingFaceTB/SmolLM2-135M", 134_515_008, 2, 49_152, _APACHE),
        PresetModel("HuggingFaceTB/SmolLM2-1.7B", 1_711_376_384, 2, 49_152, _APACHE),
    ),
    Preset(
        PresetModel("Qwen/Qwen3-0.6B", 596_049_920, 2, 151_936, _APACHE, confirmed=False),
        PresetModel("Qwen/Qwen3-8B", 8_190_735_360, 2, 151_936, _APACHE, confirmed=False),
    ),
    Preset(
        PresetModel("Qwen/Qwen2.5-0.5B", 494_032_768, 2, 151_936, _APACHE),
        PresetModel("Qwen/Qwen2.5-7B", 7_615_616_512, 2, 152_064, _APACHE),
    ),
    Preset(
        PresetModel("meta-llama/Llama-3.2-1B", 1_235_814_400, 2, 128_256, "Llama 3.2 Community", gated=True),
        PresetModel("meta-llama/Llama-3.1-8B", 8_030_261_248, 2, 128_256, "Llama 3.1 Community", gated=True),
    ),
    Preset(
        PresetModel("JackFram/llama-68m", 68_030_208, 4, 32_000, _APACHE, pickled=True),
        PresetModel("meta-llama/Llama-2-13b-hf", 13_015_864_320, 2, 32_000, "Llama 2 Community", True, confirmed=False),
    ),
    Preset(
        PresetModel("facebook/opt-125m", 125_239_296, 2, 50_272, _OPT, pickled=True),
        PresetModel("facebook/opt-13b", 12_853_473_280, 2, 50_272, _OPT, pickled=True),
    ),
    Preset(
        PresetModel("openai-community/gpt2", 124_439_808, 4, 50_257, "MIT"),
        PresetModel("openai-community/gpt2-xl", 1_557_611_200, 4, 50_257, "MIT"),
    ),
    Preset(
        PresetModel("EleutherAI/pythia-70m", 70_426_624, 2, 50_304, _APACHE),
        PresetModel("EleutherAI/pythia-1.4b", 1_414_647_808, 2, 50_304, _APACHE),
    ),
)


def preset_rows() -> list[list[str]]:
    """Return the table of presets, its head first."""
    head = ["draft", "target", "download, about", "weights in bfloat16", "in float32", "licence", "gated", "vocabulary"]
    return [
        head,
        *(
            [
                one.draft.id,
                one.target.id,
                *(f"{size / 1e9:.1f} GB" for size in (one.download_bytes, one.memory_bytes(2), one.memory_bytes(4))),
                one.licences,
                one.gated,
                one.vocabulary,
            ]
            for one in PRESETS
        ),
    ]
