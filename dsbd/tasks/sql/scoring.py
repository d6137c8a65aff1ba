"""What both tasks of questions to SQL share: an answer is scored by execution, and by its text."""

from types import MappingProxyType

from dsbd.tasks.sql.text import normalised
from dsbd.tasks.task import Question, Score, Task


class SqlTask(Task):
    """Questions to SQL; a subclass compares the rows."""

    metrics = MappingProxyType({"execution_accuracy": True, "exact_match": True})
    main_metric = "execution_accuracy"

    def difference(self, question: Question, answer: str) -> str:
        """Return what is wrong with the rows of an answer, or nothing."""
        raise NotImplementedError

    def score(self, question: Question, answer: str) -> Score:
        """Score by execution, and by the text of the query."""
        reason = self.difference(question, answer)
        exact = normalised(question.references[0]) == normalised(answer)
        return Score({"execution_accuracy": float(not reason), "exact_match": float(exact)}, reason)
