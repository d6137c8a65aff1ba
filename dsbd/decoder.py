"""The decoding loop: draft, score, verify, commit, yield.

*Source:* the paper's Algorithm 1; docs/algorithm.md, *One iteration*.
"""

from collections.abc import Collection, Generator, Sequence

import torch

from dsbd.iteration import Iteration
from dsbd.machine import PhaseClock, torch_threads
from dsbd.score import score
from dsbd.session import Observer, RunStart, Session, StoppingCriterion, Update, drafter_of, state_of
from dsbd.settings import ResolvedSettings
from dsbd.util import CancelCheck, never_cancel
from dsbd.verification.beams import Hypothesis
from dsbd.verification.joint import verify_joint
from dsbd.verification.noise import Noise
from dsbd.verification.verified import Uniforms, VerifiedLayer
from dsbd.verification.verify import verify


def iterations(
    start: RunStart,
    observers: Sequence[Observer] = (),
    check: CancelCheck = never_cancel,
    enough: StoppingCriterion | None = None,
) -> Generator[Update, None, None]:
    """Decode to the end; yield one :class:`Update` per iteration, the last with the result. Closing it cancels.

    Args:
        start: pair, prompt ids and resolved settings, all checked.
        observers: they see the start, each iteration and the result, outside the timed phases.
        check: called before each forward of a model; what it raises ends the decode.
        enough: asked after each iteration; once it returns True the decode ends with the hypotheses as they are.
    """
    pair, settings = start.pair, start.settings
    for observer in observers:
        observer.on_start(start)
    generator = torch.Generator().manual_seed(settings.seed)
    clock = PhaseClock(pair.device, exact=any(observer.reads_seconds for observer in observers))
    noise = Noise(settings.seed, start.prompt_ids, start.root)
    target_state, drafter = state_of(pair.target, start, check), drafter_of(start, generator, noise, check)
    session = Session(start, target_state, drafter, clock)
    before: Sequence[Hypothesis] = ()
    with torch_threads(1), clock.phase("prefill"):  # the states take more threads for their forwards
        session.prefill()
    while not session.done:
        clock.start_iteration()
        iteration, depth = session.begin(), session.next_depth()
        with torch_threads(1):
            with clock.phase("draft"):
                if drafter is not None and depth:
                    drafter.draft(iteration, depth)
            with clock.phase("score"):
                score(iteration, target_state, settings, generator, pair.device)
            with clock.phase("verify"):
                iteration.layers = _decide(iteration, settings, pair.eos, noise)
            with clock.phase("commit"):
                session.commit(iteration)
        for observer in observers:
            observer.on_iteration(iteration)
        if session.done:
            break
        update = session.update(before)
        if enough is not None and enough(update):
            break
        yield update
        before = update.candidates
    result = session.result()
    for observer in observers:
        observer.on_finish(result)
    yield session.update(before, result)


def _decide(
    iteration: Iteration, settings: ResolvedSettings, eos: Collection[int], noise: Noise
) -> list[VerifiedLayer]:
    known = iteration.next_tokens.known  # a lone layer makes its own noise, of fewer candidates
    if settings.forest == "coupled" and settings.temperature > 0 and iteration.scored and known:
        noise.prepare(known, settings.max_width if settings.replacement else 1)
    forest, next_tokens, choices = iteration.forest, iteration.next_tokens, Uniforms(iteration.uniforms)
    if not iteration.best:
        return verify(forest, next_tokens, settings, eos, choices, noise)
    log_probs = [(next_tokens.log_prob(node), iteration.draft_log_probs[node]) for node in iteration.best]
    return verify_joint(forest, iteration.best, log_probs, next_tokens, settings, eos, choices)
