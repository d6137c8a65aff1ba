"""The model ``dsbd`` of lm-evaluation-harness: any of its generation tasks, with any decoder of this package.

No ``lm_eval`` up to 0.4.13 finds the models of other packages, so this module starts it:

    python -m dsbd.commands.lm_eval_model --model dsbd --model_args method=dsbd,max_width=4 --tasks gsm8k
"""

import logging
import sys
from collections import Counter
from dataclasses import replace
from typing import Any, NoReturn

import torch
from tqdm import tqdm

from dsbd.api import decode
from dsbd.bench.benchmark import digest, end_that_fits
from dsbd.commands.parser import BAD_INPUT, value_of_text
from dsbd.errors import DsbdError, SettingsError
from dsbd.models.loading import load_pair
from dsbd.settings import FIELDS, DecodingSettings, fields_of

try:
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.model import LM
    from lm_eval.api.registry import model_registry
except ImportError as error:
    if __name__ != "__main__":
        raise
    print(f"dsbd: lm-evaluation-harness cannot be loaded ({error}); pip install 'lm_eval>=0.4.10'", file=sys.stderr)
    sys.exit(BAD_INPUT)

HARNESS_DEVICE = "cuda:0"
"""The default device of the harness."""
LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names that tasks have for the number of new tokens."""


class DsbdLM(LM):
    """A pair and a decoder. A setting in ``model_args`` overrides that of a task.

    Args:
        target, draft: folders or hub ids, as for :func:`dsbd.load_pair`; the bundled pair if left out.
        device, dtype, engine: as for :func:`dsbd.load_pair`.
        chat: give each prompt to the model's chat template, as the user's turn.
        batch_size, max_batch_size: not used: one question is decoded at a time.
        settings: fields of :class:`dsbd.DecodingSettings`; lists are written ``4x2`` (branching) or ``1:2`` (others).

    Raises:
        SettingsError: an unknown name or a bad value.
        PairError: a model cannot be loaded.
    """

    def __init__(
        self,
        target: str | None = None,
        draft: str | None = None,
        device: str | None = None,
        dtype: str = "auto",
        engine: str = "auto",
        chat: bool = False,
        batch_size: Any = None,
        max_batch_size: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._fixed = {name: self._value(name, value) for name, value in settings.items()}
        DecodingSettings(**self._fixed)  # refuses bad values before the models are loaded
        if device is None or (device == HARNESS_DEVICE and not torch.cuda.is_available()):
            device = "auto"
        self._pair = load_pair(target, draft, device, dtype, engine)
        self._chat = chat
        self._seen: Counter[str] = Counter()

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Decode every request; the seed depends on the setting ``seed``, the prompt, and how often it came before."""
        texts = []
        for request in tqdm(requests, desc="dsbd", disable=disable_tqdm):
            prompt, options = request.args
            settings, until = self._settings(options)
            seed = int(digest(settings.seed, prompt, self._seen[prompt])[:15], 16)
            self._seen[prompt] += 1
            fitting = end_that_fits(self._pair.used_by(settings), prompt, settings.max_new_tokens, self._chat)
            if fitting != prompt:
                logging.getLogger(__name__).warning("a prompt of %d characters loses its beginning", len(prompt))
            result = decode(self._pair, fitting, replace(settings, seed=seed), chat=self._chat, stop=until)
            texts.append(result.text)
            self.cache_hook.add_partial("generate_until", request.args, texts[-1])
        return texts

    def loglikelihood(self, requests: list[Any]) -> NoReturn:
        """Refuse: the likelihood of a text does not depend on the decoder."""
        raise SettingsError(
            "the model dsbd decodes text, and the likelihood of a given text is that of the target model whatever "
            "decodes; run tasks of this kind with --model hf and the target model"
        )

    loglikelihood_rolling = loglikelihood

    @property
    def tokenizer_name(self) -> NoReturn:
        """Refuse ``--apply_chat_template``, which asks for this first."""
        raise SettingsError("leave --apply_chat_template out; chat=True in --model_args applies the template")

    @staticmethod
    def _value(name: str, value: Any) -> Any:
        """Return a setting from model_args, which leave lists as text."""
        if name not in FIELDS:
            raise SettingsError(f"there is no setting {name!r}; settings are {', '.join(FIELDS)}")
        return value_of_text(name, value) if isinstance(value, str) else value

    def _settings(self, options: dict[str, Any]) -> tuple[DecodingSettings, tuple[str, ...]]:
        """Return the settings and the texts that end an answer, from a task's ``generation_kwargs``."""
        rest = {name: value for name, value in options.items() if value is not None}
        until, samples = rest.pop("until", ()), rest.pop("do_sample", None)
        lengths = [rest.pop(name) for name in LENGTHS if name in rest]
        if not (samples or (samples is None and rest.get("temperature"))):
            rest["temperature"] = 0.0
        if lengths:
            rest["max_new_tokens"] = lengths[0]
        for name in rest:
            if name not in FIELDS:
                raise SettingsError(f"generation_kwargs has {name!r}, which no decoder here reads; leave it out")
        ends = (until,) if isinstance(until, str) else tuple(until)
        read = fields_of(self._fixed.get("method", DecodingSettings.method))
        taken = {one.name: rest[one.name] for one in read if one.name in rest}
        return DecodingSettings(**taken | self._fixed), tuple(end for end in ends if end)


if __name__ == "__main__":
    model_registry.register("dsbd", target="dsbd.commands.lm_eval_model:DsbdLM")
    try:
        cli_evaluate()
    except DsbdError as error:
        print(f"dsbd: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
