"""Small contests."""

from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import contenders
from dsbd.measure.bench.contest import Contest, plain_prompts
from dsbd.measure.bench.driver import run_contest

from tests.toy_pair import toy_pair

CONDITIONS = {"machine": {"cores": 2}, "versions": {"torch": "1"}}
ALL = ("dsbd", "beam_sampling", "sampling", "hf_beam_sampling", "hf_beam_search", "hf_assisted", "hf_sampling")


def contest_of(methods=("dsbd", "beam_sampling"), rounds=2, **values) -> Contest:
    listed = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
    chosen = contenders(methods, {"max_new_tokens": [5], **listed})
    return Contest(chosen, plain_prompts(["Once", "The fox"]), rounds)


def answers_of(path, contest: Contest) -> AnswersFile:
    """Return a file of answers to a contest."""
    answers = AnswersFile(path)
    answers.begin(contest.asked(), CONDITIONS)
    return answers


def measured_answers(contest: Contest, pair=None) -> AnswersFile:
    """Run a contest on the toy pair."""
    answers = AnswersFile()
    list(run_contest(pair or toy_pair(), contest, answers))
    return answers


def run_of(answers: AnswersFile, contest: Contest, method: str, round: int = 0):
    """Return the decode of the first prompt by a method."""
    contender = next(one for one in contest.contenders if one.method == method)
    return answers.find(contest.turn(contest.prompts[0], contender, round))
