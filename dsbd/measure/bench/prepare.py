"""What a bench does before it measures: conditions, checks, resolving ``auto``, costs of the forwards, acceptance."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from dsbd.api import decode
from dsbd.api import plan as plan_auto
from dsbd.block_search import require_few_blocks
from dsbd.errors import PairError, SettingsError
from dsbd.machine import conditions
from dsbd.measure.bench.acceptance import AcceptanceWatch
from dsbd.measure.bench.contenders import CTRANSLATE2, OPPONENTS, Contender, Contest
from dsbd.measure.bench.ctranslate2_search import generator_of
from dsbd.measure.bench.records import ResolvedAuto
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.hardware import measure_forwards
from dsbd.models.pair import Pair

WATCHED_PROMPTS = 3
FORWARD_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def conditions_of(pair: Pair, contenders: Sequence[Contender]) -> dict[str, Any]:
    """Return what figures depend on: machine, versions and models, and the versions of ``opponents`` that run here."""
    found = conditions(pair)
    if any(one.method in CTRANSLATE2 for one in contenders):
        found["opponents"] = {"ctranslate2": version("ctranslate2")}
    return found


def require_runnable(pair: Pair, contest: Contest) -> None:
    """Check everything that could stop a bench later.

    Raises:
        SettingsError: there is no prompt, or ``mjgd`` would have too many blocks to search.
        PromptError: a prompt does not fit the models.
        PairError: a contender drafts and the pair has no draft model, or CTranslate2 cannot run the target here.
    """
    if not contest.prompts:
        raise SettingsError("there is no prompt; give a file with one prompt a line")
    for contender in contest.contenders:
        if contender.drafts and pair.draft is None:
            raise PairError(f"{contender.name} needs a draft model; load one, or leave it out of the methods")
        if contender.settings.method == "mjgd":
            require_few_blocks(pair.target.vocabulary_size, contender.settings.block)
        if contender.method in CTRANSLATE2:
            generator_of(pair, contender.method)
    longest = max(contender.settings.max_new_tokens for contender in contest.contenders)
    for prompt in contest.prompts:
        pair.require_room(len(pair.encode(prompt)), longest)


def resolve_auto(pair: Pair, contest: Contest, results: ResultsFile, stop: Callable[[], bool] | None = None) -> Contest:
    """Return the contest with every ``auto`` resolved by measuring; what the results hold already is used again.

    Raises:
        StoppedError: ``stop`` returned True while something was measured.
    """
    prompt = contest.prompts[0]
    found = tuple(_resolved(pair, one, prompt, results, stop) for one in contest.contenders)
    return replace(contest, contenders=found)


def _resolved(
    pair: Pair, contender: Contender, prompt: str, results: ResultsFile, stop: Callable[[], bool] | None
) -> Contender:
    if not contender.drafts or not contender.settings.is_auto:
        return contender
    kept = results.resolved_auto(contender)
    if kept is None:
        found = plan_auto(pair, prompt, contender.settings, stop)
        kept = ResolvedAuto(values=dict(found.values), sentence=found.sentence)
        results.add_resolved_auto(contender, kept)
    return replace(contender, settings=replace(contender.settings, **kept.values), auto_reason=kept.sentence)


def learn_acceptance(pair: Pair, contest: Contest, results: ResultsFile) -> Iterator[Contender]:
    """Decode some prompts with each drafting contender and keep how probable it is that layers pass.

    Yields:
        Each contender after its decodes; those whose acceptance the results hold already are left out.
    """
    for contender in contest.contenders:
        if contender.drafts and contender.method not in OPPONENTS and results.acceptance(contender) is None:
            watch = AcceptanceWatch()
            for prompt in contest.prompts[:WATCHED_PROMPTS]:
                decode(pair, prompt, contender.settings, observers=[watch])
            results.add_acceptance(contender, watch.summary())
            yield contender


def learn_forwards(pair: Pair, results: ResultsFile) -> None:
    """Time the forwards and the bandwidth of this machine, unless the results hold them already."""
    if results.forwards is None:
        results.add_forwards(measure_forwards(pair, FORWARD_SIZES))
