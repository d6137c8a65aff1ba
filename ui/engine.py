"""The page's only way to the models. All visitors share one engine, which runs one job at a time.

On ZeroGPU another process does the work of a job. Its errors come back as values and are raised here, and plans of
``auto`` travel with it.
"""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

from dsbd.auto import Plan, known_plan
from dsbd.errors import DsbdError, StoppedError
from dsbd.models.loading import loading
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.stopping import check_of

from .host.allowed_models import AllowedModels
from .host.limits import Limits, setting
from .jobs import Job, Steps
from .pairs.shelf import PAGE, Load, PairShelf
from .traffic.visitors import StopSignal, Visitors
from .zerogpu import on_gpu

SECONDS_TO_START = 15
SECONDS_PER_TOKEN = 0.25
MEASURING_SECONDS = 40
"""Time for measuring ``auto`` if there is no plan yet."""
LOOK_SECONDS = 0.05
"""A waiting job looks this often whether its turn has come or it was stopped."""


class Engine:
    """Runs jobs on the page's pair, or on another one that a job names by its key; ``load`` loads further pairs."""

    def __init__(
        self, pair: Pair, limits: Limits | None = None, load: Load = loading, allowed: AllowedModels | None = None
    ) -> None:
        self.pair = pair
        self.limits = limits or Limits()
        self.allowed = allowed or AllowedModels()
        self.pairs = PairShelf(pair, self.limits.max_loaded_pairs, load)
        self.visitors = Visitors()
        self._in_use = threading.Lock()
        self._lent = on_gpu(self._work)

    @contextmanager
    def visit(self, session: str, limit: str) -> Iterator[StopSignal]:
        """A run of this visitor; ``limit`` names the field of the limits with its longest time in seconds.

        Raises: StoppedError: it was stopped; the message is the sentence for the visitor.
        """
        seconds = getattr(self.limits, limit)
        with self.visitors.run(session, seconds) as stop:
            try:
                yield stop
            except StoppedError:
                late = f"Stopped after {seconds} s, the longest a run may take on this page ({setting(limit)})."
                raise StoppedError("Stopped." if stop.is_revoked else late) from None

    @contextmanager
    def alone(self, stop: Callable[[], bool]) -> Iterator[None]:
        """Wait for the models and hold them. Raises: StoppedError: ``stop`` said so meanwhile."""
        check = check_of(stop)
        while not self._in_use.acquire(timeout=LOOK_SECONDS):
            check()
        try:
            check()
            yield
        finally:
            self._in_use.release()

    def run(self, job: Job, stop: StopSignal) -> Generator[Any, None, None]:
        """Yield the steps of a job; read it to its end, or close it.

        Raises: PairError: the pair is not in memory. SettingsError: beyond a limit of this page. StoppedError:
        ``stop`` said so, before a forward of a model or before the job began. DsbdError: as the job says.
        """
        note = self.visitors.note(stop, job.call, list(dict.fromkeys(one.method for one in job.settings)))
        with closing(self._steps(job, stop)) as steps:
            yield from note.watched(steps, stop.deadline)

    def known_plan(self, settings: DecodingSettings, pair: str = PAGE) -> Plan | None:
        """Return the plan of these settings, if it was made before and the pair is in memory."""
        is_known = settings.is_auto and self.pairs.is_loaded(pair)
        return known_plan(self.pairs.open(pair), settings) if is_known else None

    def _steps(self, job: Job, stop: StopSignal) -> Generator[Any, None, None]:
        failed = None
        with self.alone(stop):
            chosen = self.pairs.get(job.pair)
            job.check(chosen)
            work = self._lent(_seconds(job, chosen), job.steps, job.pair, stop)
            with closing(work) as values:
                for value in values:
                    if isinstance(value, DsbdError):
                        failed = value
                    else:
                        yield value
        if failed is not None:
            raise failed

    def _work(
        self,
        seconds: int,
        steps: Steps,
        pair: str,
        stop: StopSignal,
    ) -> Generator[Any, None, None]:
        """Use the models, at most so many seconds of ZeroGPU; all that comes in and goes out is plain data."""
        try:
            chosen = self.pairs.open(pair)
            try:
                yield from steps(chosen, stop=stop)
            except DsbdError as error:
                yield error
        except DsbdError as error:
            yield error


def _seconds(job: Job, pair: Pair) -> int:
    """Return the seconds of a GPU to ask for."""
    unknown = sum(one.is_auto and known_plan(pair, one) is None for one in job.settings)
    tokens = sum(one.max_new_tokens for one in job.settings) * job.times
    return min(job.seconds, SECONDS_TO_START + MEASURING_SECONDS * unknown + int(SECONDS_PER_TOKEN * tokens))
