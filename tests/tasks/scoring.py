"""What every scored task must do: right answers score 1, and answers dealt to wrong questions what chance gives."""


def mean_score(task, shift=0, metric=None):
    """Return the mean score when every question gets the right answer of the question ``shift`` places on."""
    questions = task.questions()
    dealt = [questions[(place + shift) % len(questions)] for place in range(len(questions))]
    answers = [task.answer(f" {question.references[0]}") for question in dealt]
    scores = [
        task.score(question, answer).metrics[metric or task.main_metric]
        for question, answer in zip(questions, answers, strict=True)
    ]
    return sum(scores) / len(scores)


def chance(task, metric=None):
    """Return the mean score over all shifts: the expected score of right answers dealt at random."""
    count = len(task.questions())
    return sum(mean_score(task, shift, metric) for shift in range(count)) / count
