"""The lane of one decode: when it drafted, scored and verified, and when tokens became final."""

import codecs
from itertools import accumulate, pairwise
from typing import cast

from dsbd.evaluation.race_records import Landing, Lane, Phase, Stretch
from dsbd.measure.bench.records import Run
from dsbd.results import ITERATION_PHASES, PlainResult
from dsbd.session import IterationEnd, Observer, RunStart


class LaneWatch(Observer):
    """Notes what a lane needs while one of our decoders runs; it takes no time of the decode worth measuring.

    An iteration's layers become final together, at the end of its commit. While a decode goes on, several beams may be
    alive: the text of a landing is that of the hypothesis returned in the end.
    """

    reads_seconds = False

    def __init__(self) -> None:
        self._seconds = list[tuple[Phase, float]]()
        self._landed = list[tuple[float, int]]()

    def on_start(self, start: RunStart) -> None:
        self._start = start

    def on_iteration(self, iteration: IterationEnd) -> None:
        spent = [(cast(Phase, phase), iteration.seconds[phase]) for phase in ITERATION_PHASES]
        self._seconds += spent
        self._landed.append((sum(seconds for _, seconds in spent), len(iteration.layers)))

    def on_finish(self, result: PlainResult) -> None:
        self._result = result

    def lane(self) -> Lane:
        """Return the lane of the decode, which has come to its end."""
        spent: list[tuple[Phase, float]] = [("prefill", self._result.stats.prefill_seconds), *self._seconds]
        moments = pairwise(accumulate((seconds for _, seconds in spent), initial=0.0))
        stretches = [Stretch(phase, *span) for (phase, _), span in zip(spent, moments, strict=True)]
        texts, now, first, landings = self._texts(), spent[0][1], 0, list[Landing]()
        for seconds, layers in self._landed:
            now += seconds
            landings.append(Landing(now, layers, "".join(texts[first : first + layers])))
            first += layers
        kept = tuple(one for one in stretches if one.end > one.start)
        return Lane(kept, tuple(landings), self._start.settings.seed)

    def _texts(self) -> list[str]:
        """Return what each token adds to the text: a character split over tokens comes with the last of them."""
        reader, pair = codecs.getincrementaldecoder("utf-8")(errors="replace"), self._start.pair
        own = [b"" if token in pair.eos else pair.token_bytes.of(token) for token in self._result.token_ids]
        return [reader.decode(part, final=place == len(own)) for place, part in enumerate(own, 1)]


def lane_of(run: Run) -> Lane:
    """Return the lane of an opponent's decode, of which only the beginning and the end are known."""
    stretches = (Stretch("prefill", 0.0, run.prefill_seconds), Stretch("forward", run.prefill_seconds, run.seconds))
    return Lane(stretches, (Landing(run.seconds, run.layers, run.text),), run.seed)
