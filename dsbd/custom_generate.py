"""The decoders of this package behind ``generate`` of transformers, as a function for its ``custom_generate``."""

import inspect
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import GenerationConfig
from transformers.generation import GenerateBeamDecoderOnlyOutput

from dsbd import generate_request as request
from dsbd.api import known_of
from dsbd.decoder import iterations
from dsbd.drafts.history import History
from dsbd.errors import PairError, SettingsError
from dsbd.methods import resolve
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import cached_pair
from dsbd.models.pair import Pair, is_list
from dsbd.models.states.state import Processor, functions_of_ids
from dsbd.results import DecodedBeam
from dsbd.session import RunStart, Update
from dsbd.tracing.recorder import Recorder


@dataclass
class Output(GenerateBeamDecoderOnlyOutput):
    """What ``generate`` returns with ``return_dict_in_generate``."""

    trace: Any = None
    """With ``record`` the :class:`dsbd.Trace` of the decode; of several prompts or samples a list."""


def generate(
    model: Any,
    input_ids: Any = None,
    logits_processor: Sequence[Processor] = (),
    stopping_criteria: Sequence[Any] = (),
    generation_config: GenerationConfig | None = None,
    streamer: Any = None,
    draft_model: Any = ...,
    vocabulary_size: int | None = None,
    record: Any = None,
    guess: Any = None,
    history: History | None = None,
    **inputs: Any,
) -> torch.Tensor | Output:
    """Decode for ``model.generate(**inputs, custom_generate=dsbd.generate, draft_model=draft, num_beams=4, ...)``.

    With several beams ``do_sample=True`` is DSBD of fixed width ``num_beams`` without replacement: the distribution of
    ``beam_sampling`` without replacement, so the beams differ. ``do_sample=False`` is ``speculative_beam_search``. With
    one beam they are speculative sampling, and the same at temperature 0; each returned sequence is then a separate
    sample. The models are checked at the first call, and again after their weights changed; both are set to evaluation
    mode.
    Where tokens are drawn (``do_sample=True`` at a temperature above 0) and ``seed`` is not given, each text takes one
    number from torch's global generator as its seed, so ``transformers.set_seed`` governs it; nothing else here moves
    that generator. With ``seed`` several texts have the seeds ``seed``, ``seed + 1``, ...

    Args:
        model: the target, on which ``generate`` was called.
        input_ids: [prompts * max(num_beams, num_return_sequences), length], int64; prompts are decoded one by one.
        logits_processor: may look at one sequence each (bad words, n-grams, forced tokens, a grammar, ...); both
            models' logits pass through them before the joint distribution is made.
        stopping_criteria: with one beam any that reads the ids, its ``scores`` are None; with several, those of
            length, time and EOS.
        generation_config: as ``generate`` prepared it.
        streamer: gets the prompt, the new tokens of one sequence as they settle, several after an iteration, then the
            end. transformers does not pass on its own arguments, ``streamer`` and ``tokenizer`` among them: bind it,
            ``custom_generate=functools.partial(dsbd.generate, streamer=streamer)``, and give ``stop_strings`` as a
            ``StopStringCriteria``.
        draft_model: a smaller model with the same tokenizer, or ``lookup``; None drafts nothing.
        vocabulary_size: ids from here on are padding, ``len(tokenizer)``; needed where the draft has fewer ids.
        record: the tokenizer, to keep a trace in the output's ``trace``; needs ``return_dict_in_generate``.
        guess, history: as for :func:`dsbd.decode`; a text as ``guess`` needs ``record``, ids do not. Every text that
            comes out is added to ``history``.
        inputs: settings of :class:`DecodingSettings` that a GenerationConfig lacks, such as ``draft_depth``, or
            ``width_threshold``, with which ``num_beams`` is the largest width; ``draft_width`` is num_beams + 2 if not
            given. And what else ``generate`` passes on; the attention mask may hide padding in front.

    Returns:
        ids [prompts * num_return_sequences, longest], prompts as given included, padded on the right; or with
        ``return_dict_in_generate`` an output with ``sequences`` and, of several beams, ``sequences_scores`` (log-weight
        over length ** length_penalty).

    Raises:
        SettingsError: an option cannot be honoured, no draft model was given, or this was called by hand; the message
            says which, and how.
        SettingsError: the distribution leaves fewer texts than ``num_return_sequences``.
        PairError: the draft has fewer ids than the target, or a model is no causal language model.
    """
    if generation_config is None:
        raise SettingsError(
            "dsbd.generate is called by transformers: model.generate(input_ids, custom_generate=dsbd.generate, "
            "draft_model=draft); by hand, call dsbd.decode(pair, prompt)"
        )
    config = generation_config
    named = {name: value for name in request.OWN if (value := inputs.pop(name, None)) is not None}
    request.refuse_unknown(config, inputs)
    if draft_model is ...:
        raise SettingsError(
            "draft_model is not given; give draft_model=draft, as transformers does not pass on assistant_model, "
            "draft_model='lookup' to copy guesses from the text, or draft_model=None to draft nothing"
        )
    if (own_inputs := "prepare_inputs_for_generation") in vars(model):
        raise SettingsError(
            f"{own_inputs} of this {type(model).__name__} was replaced, as prompt tuning does; dsbd.generate feeds the "
            f"ids alone; give a model without it"
        )
    if streamer is not None and len(input_ids) > 1:
        raise SettingsError(
            f"streamer is given with {len(input_ids)} sequences; one can be streamed: give one prompt, num_beams=1 and "
            f"num_return_sequences=1, or leave streamer out"
        )
    if not record and (isinstance(guess, str) or is_list(guess, str)):
        raise SettingsError(f"guess is {guess!r:.60}; give ids here, or record=tokenizer, which reads texts")
    knows = guess is not None or history is not None
    requested = request.requested_settings(config, "lookup" if draft_model is None and knows else draft_model, named)
    own = request.of_the_caller(logits_processor, config)
    pair = cached_pair(model, draft_model)
    pair = replace(pair.copying if draft_model is None and knows else pair, eos=request.eos_ids(config))
    _require_every_token(pair, vocabulary_size)
    width, returned = config.num_beams or 1, config.num_return_sequences or 1
    samples = returned if width == 1 and config.do_sample else 1
    stops = request.requested_stops(stopping_criteria, width)
    if record:
        _require_recordable(config, record, own, stops)
        pair = replace(pair, tokenizer=record)
    copies = max(width, returned)
    prompts = request.prompts_of(input_ids, inputs.get("attention_mask"), inputs.get("position_ids"), copies)
    room = request.room_for(config, stopping_criteria, input_ids.shape[1])
    if streamer is not None:
        streamer.put(input_ids.cpu())
    beams, recorders = list[tuple[torch.Tensor, DecodedBeam]](), list[Recorder]()
    for number, (ids, padding) in enumerate(prompts):
        prompt = ids[padding:].tolist()
        pair.require_ids(prompt, vocabulary_size)
        pair.require_fitting(len(prompt), room)
        known = known_of(pair, guess, history, prompt)
        for sample in range(samples):
            processors = request.processors_of(own, ids[:padding], row=number * copies + sample)
            settings = resolve(replace(requested, max_new_tokens=room, seed=requested.seed + number * samples + sample))
            if settings.temperature and "seed" not in named:
                settings = replace(settings, seed=int(torch.randint(2**31, ()).item()))
            processors = functions_of_ids(processors, settings, several=len(prompts) * samples > 1)
            start = RunStart(pair, pair.detokenize(prompt), prompt, settings, processors, known=known)
            recorders += [Recorder()] if record else []
            text = _Text(ids, *stops, streamer)
            *_, last = iterations(start, recorders[-1:], enough=text.enough)
            assert last.result is not None, "the last update carries the result"
            text.take(last.result.token_ids)
            if history is not None:
                history.add(text.ids, prompt)
            best = [replace(last.result.beams[0], token_ids=text.ids), *last.result.beams[1:]][: returned // samples]
            if len(best) * samples < returned:
                raise SettingsError(
                    f"num_return_sequences is {returned}, and {len(best)} texts of a prompt are left; ask for "
                    f"fewer, or cut the distribution less"
                )
            beams += [(ids, beam) for beam in best]
    if streamer is not None:
        streamer.end()
    traces = [recorder.trace() for recorder in recorders]
    return _output(beams, config, traces[0] if len(traces) == 1 else traces or None)


def _require_recordable(
    config: GenerationConfig, tokenizer: Any, processors: Sequence[Processor], stops: tuple[float, tuple[Any, ...]]
) -> None:
    """Check that a trace holds all that decides, and reaches the caller. Raises: SettingsError."""
    reasons = {
        "the trace comes with the output of return_dict_in_generate=True; set it": not config.return_dict_in_generate,
        "a trace has the texts of tokens; give record=tokenizer": not hasattr(tokenizer, "convert_ids_to_tokens"),
        "a trace does not hold what logits processors did; leave them out": bool(processors),
        "a trace does not hold stopping criteria, stop_strings or max_time; leave them out": stops != (math.inf, ()),
    }
    for reason in (reason for reason, applies in reasons.items() if applies):
        raise SettingsError(f"record is given, and {reason}")


def _require_every_token(pair: Pair, vocabulary_size: int | None) -> None:
    """Check that the draft's vocabulary cuts off no token of the target's. Raises: PairError."""
    if not isinstance(pair.draft, LanguageModel) or pair.target.vocabulary_limit is None:
        return
    whole = int(pair.target.config.vocab_size) if vocabulary_size is None else vocabulary_size
    left = pair.target.vocabulary_size
    if left < whole:
        raise PairError(
            f"{pair.draft.id} has {left} ids and {pair.target.id} {whole}, so the last ids of the target could never "
            f"come; use a draft with the same vocabulary, or give vocabulary_size=len(tokenizer) if they are padding"
        )


class _Text:
    """The new ids that every possible result begins with, up to the first place where a criterion holds.

    ``prompt`` are its ids [n]. Criteria are asked about every new token once, and a streamer gets it once.
    """

    def __init__(self, prompt: torch.Tensor, deadline: float, criteria: Sequence[Any], streamer: Any) -> None:
        self._sequence, self._deadline, self._criteria, self._streamer = prompt, deadline, criteria, streamer
        self.ids = list[int]()
        self._ended = False

    def take(self, ids: list[int]) -> None:
        """Take ``ids``, which begin with those that were taken before."""
        for token in ids[len(self.ids) :]:
            if self._ended:
                break
            self.ids.append(token)
            if self._streamer is not None:
                self._streamer.put(torch.tensor([token]))
            if self._criteria:
                self._sequence = torch.cat([self._sequence, self._sequence.new_tensor([token])])
                answers = [torch.as_tensor(criterion(self._sequence[None], None)) for criterion in self._criteria]
                self._ended = any(bool(one.all()) for one in answers)

    def enough(self, update: Update) -> bool:
        """Take what is settled; return True if the decode may end there."""
        self.take(update.settled_ids)
        return self._ended or time.time() > self._deadline


def _output(
    beams: Sequence[tuple[torch.Tensor, DecodedBeam]], config: GenerationConfig, trace: Any
) -> torch.Tensor | Output:
    padding = config.pad_token_id if config.pad_token_id is not None else min(request.eos_ids(config), default=0)
    rows = [torch.cat([prompt, prompt.new_tensor(beam.token_ids)]) for prompt, beam in beams]
    sequences: Any = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)
    if not config.return_dict_in_generate:
        return sequences
    several = (config.num_beams or 1) > 1
    scores = sequences.new_tensor([beam.score for _, beam in beams], dtype=torch.float32) if several else None
    return Output(sequences=sequences, sequences_scores=scores, trace=trace)


def _signature() -> inspect.Signature:
    """Return the signature of :func:`generate` with the settings by name: ``generate`` of transformers reads it to tell
    arguments of a decoding function from inputs of the model."""
    *own, inputs = inspect.signature(generate).parameters.values()
    settings = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in request.OWN]
    return inspect.Signature([*own, *settings, inputs])


vars(generate)["__signature__"] = _signature()
