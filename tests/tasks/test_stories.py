"""Story openings: enough of them, all different, plain, and always the same."""

from dsbd.tasks.stories import COUNT, Stories

from dsbd.assets import asset_path


def test_there_are_enough_openings_and_no_two_are_the_same():
    prompts = [question.prompt for question in Stories().questions()]
    assert len(prompts) == len(set(prompts)) == COUNT >= 300
    assert not [prompt for prompt in prompts if "$" in prompt or prompt != prompt.strip()]


def test_the_bundled_prompts_come_first_and_a_limit_takes_the_first():
    bundled = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()
    questions = Stories().questions(40)
    assert [question.prompt for question in questions[: len(bundled)]] == bundled
    assert questions == Stories().questions()[:40]
