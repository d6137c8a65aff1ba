"""An evaluation: a contest on the questions of tasks. Ctrl-C and a stop keep what is done."""

from collections.abc import Callable, Iterator
from pathlib import Path

from dsbd.errors import SettingsError
from dsbd.evaluation.exam import Exam
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.driver import ContestProgress, conditions_of, require_runnable, run_contest, shown
from dsbd.models.pair import Pair


class Evaluation:
    """Contenders on tasks, with one pair.

    Args:
        pair: the models.
        exam: which contenders answer which questions.
        output: a file for the answers; one that exists is continued. None keeps them in memory.

    Raises:
        DsbdError: a contender cannot run on this pair, a prompt does not fit, or the file has other answers.
    """

    def __init__(self, pair: Pair, exam: Exam, output: str | Path | None = None) -> None:
        pair.require_whole("an evaluation")
        self._pair = pair
        self._contest = exam.contest(_fitted(pair, exam))
        require_runnable(pair, self._contest)
        self.answers = AnswersFile(output)
        """Everything decoded so far."""
        self.answers.begin(exam.asked(), conditions_of(pair, exam.contenders))

    @property
    def shortened(self) -> int:
        """How many prompts had to be shortened."""
        return sum(prompt.shortened for prompt in self._contest.prompts)

    def run(self) -> bool:
        """Decode what is missing; returns False where Ctrl-C stopped it."""
        return shown(self.steps())

    def steps(self, stop: Callable[[], bool] | None = None) -> Iterator[ContestProgress]:
        """Decode what is missing; see :func:`dsbd.measure.bench.driver.run_contest`."""
        return run_contest(self._pair, self._contest, self.answers, metered=True, stop=stop)


def _fitted(pair: Pair, exam: Exam) -> dict[tuple[str, str], str]:
    """Return the prompt of each question, shortened by the rule of its task where the models have no room for it."""
    found = {}
    for run in exam.runs:
        room = pair.room_after(run.max_new_tokens)
        if room < 1:
            raise SettingsError(
                f"max_new_tokens of task {run.name} is {run.max_new_tokens}, and the models' context leaves no "
                "room for a prompt; lower max_new_tokens"
            )
        for question in run.questions:
            prompt = run.task.fit(question, lambda text: len(pair.encode(text, chat=exam.chat)), room)
            found[run.name, question.id] = prompt
    return found
