"""MT-Bench: the first turns of 80 conversations, as prompts for speed and perplexity.

The benchmark's own score comes from a large model that judges both turns. Nothing is judged here.

*Source:* Zheng et al., arXiv 2306.05685.
"""

from pathlib import Path

from dsbd.errors import TaskError
from dsbd.tasks.files import json_lines
from dsbd.tasks.places import hub_rows, place_of
from dsbd.tasks.task import Question, Task, in_order

REMEDY = "the path of MT-Bench's question.jsonl, or a hub id such as HuggingFaceH4/mt_bench_prompts (Apache-2.0)"


class MtBench(Task):
    """Prompts of eight categories, without right answers."""

    name = "mt_bench"
    version = 1
    max_new_tokens = 256

    def __init__(self, data: str | Path | None) -> None:
        """Read the prompts.

        Args:
            data: path of the official JSON-lines file, or a hub id.

        Raises:
            TaskError: the data is missing, or a line is not in the format of MT-Bench.
        """
        place = place_of(self.name, data, REMEDY)
        lines = json_lines(place) if isinstance(place, Path) else enumerate(hub_rows(place, "train"), start=1)
        read = []
        for line, entry in lines:
            turns = entry.get("turns", entry.get("prompt"))
            if not isinstance(turns, list) or not turns or not isinstance(turns[0], str):
                raise TaskError(f"{place}, line {line}: turns must be a list of texts; give {REMEDY}")
            id = f"{entry.get('question_id', entry.get('prompt_id', line))}"
            read.append(Question(id, turns[0], fields={"category": f"{entry.get('category', '')}"}))
        super().__init__(in_order(read))
