"""The page's only way to the models. One engine is shared by all visitors; the queue lets one in at a time."""

from collections.abc import Iterator, Sequence

import dsbd
from dsbd.api import planning
from dsbd.auto.plan import PlanProgress
from dsbd.measure.comparison import Progress, compare
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace

from .zerogpu import on_gpu

SECONDS_TO_START = 15
SECONDS_PER_TOKEN = 0.25
LONGEST_LOAN_SECONDS = 120


class Engine:
    """Runs decodes on one pair. What it yields is plain data, because on ZeroGPU it crosses processes.

    Args:
        pair: loaded, on its device.
    """

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.events = on_gpu(_decode_seconds)(self._events)
        self.compare = on_gpu(_compare_seconds)(self._compare)

    @property
    def name(self) -> str:
        """The pair in words."""
        draft = f" + {self.pair.draft.id}" if self.pair.draft is not None else ""
        return f"{self.pair.target.id}{draft}, {str(self.pair.target.dtype).removeprefix('torch.')}"

    def _events(self, prompt: str, settings: DecodingSettings) -> Iterator[PlanProgress | Trace | Iteration]:
        """A recorded decode: the trials of ``auto``, the trace's beginning, each further iteration, the whole trace.

        Raises:
            DsbdError: the prompt does not fit, or the pair cannot run the method.
        """
        yield from planning(self.pair, prompt, settings)
        begun = False
        updates = dsbd.stream(self.pair, prompt, settings, record=True)
        for update in updates:
            if update.result is not None:
                assert update.result.trace is not None, "the decode is recorded"
                yield update.result.trace
            elif begun:
                assert update.iteration is not None, "the decode is recorded"
                yield update.iteration
            else:
                assert update.trace is not None, "the decode is recorded"
                yield update.trace
            begun = True

    def _compare(
        self, prompt: str, settings: DecodingSettings, methods: Sequence[str], runs: int
    ) -> Iterator[Progress]:
        """Measure methods side by side; see :func:`dsbd.measure.comparison.compare`."""
        yield from compare(self.pair, prompt, settings, list(methods), runs)


def _decode_seconds(prompt: str, settings: DecodingSettings) -> int:
    return min(LONGEST_LOAN_SECONDS, SECONDS_TO_START + int(SECONDS_PER_TOKEN * settings.max_new_tokens))


def _compare_seconds(prompt: str, settings: DecodingSettings, methods: Sequence[str], runs: int) -> int:
    tokens = settings.max_new_tokens * len(methods) * (runs + 1)
    return min(LONGEST_LOAN_SECONDS, SECONDS_TO_START + int(SECONDS_PER_TOKEN * tokens))
