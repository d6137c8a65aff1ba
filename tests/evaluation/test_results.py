"""Scores and result files: right answers score 100, scoring again gives the same, and other tools can read them."""

import json

import pytest

import dsbd
from dsbd.errors import SettingsError
from dsbd.evaluation.exams import make_exam
from dsbd.evaluation.harness import samples_of
from dsbd.evaluation.records import Drafting
from dsbd.evaluation.report import score_folder
from dsbd.evaluation.scoring import score_all, table_of
from dsbd.evaluation.serving import serving_figures
from dsbd.evaluation.summary import summary_table
from tests.evaluation.quiz import Quiz, exam, made_up_prediction
from tests.toy_pair import toy_pair

TASK = "dsbd_quiz"
KEYS = {
    "results": dict, "group_subtasks": dict, "configs": dict, "versions": dict, "n-shot": dict,
    "higher_is_better": dict, "n-samples": dict, "config": dict, "git_hash": None, "date": float,
    "pretty_env_info": str, "transformers_version": str, "lm_eval_version": None, "upper_git_hash": None,
    "tokenizer_pad_token": list, "tokenizer_eos_token": list, "tokenizer_bos_token": list, "eot_token_id": None,
    "max_length": int, "task_hashes": dict, "model_source": str, "model_name": str, "model_name_sanitized": str,
    "system_instruction": None, "system_instruction_sha": None, "fewshot_as_multiturn": bool, "chat_template": None,
    "chat_template_sha": None, "total_evaluation_time_seconds": str, "dsbd": dict,
}  # fmt: skip
CONFIG_KEYS = {
    "model", "model_args", "batch_size", "device", "limit", "bootstrap_iters", "gen_kwargs", "random_seed",
    "numpy_seed", "torch_seed", "fewshot_seed",
}  # fmt: skip
SAMPLE_KEYS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash", "exact", "length", "dsbd",
}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A whole evaluation through the public function."""
    folder = tmp_path_factory.mktemp("report")
    methods = ("dsbd:same-law", "beam_sampling", "hf_sampling")
    return dsbd.evaluate(toy_pair(), [Quiz()], folder, methods, limit=2, seeds=2, log_samples=True, num_beams=2)


def shape(value):
    """Return the types of plain data, as a reader of columns sees them."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        shapes = [shape(inner) for inner in value]
        assert all(one == shapes[0] for one in shapes), "a list mixes types"
        return shapes[:1]
    return type(value).__name__


def test_results_have_the_keys_of_the_harness(report):
    """Catches a renamed key: tools that read results of lm-evaluation-harness would skip the file."""
    files = [path for path in report.files if path.name.startswith("results_")]
    assert len(files) == 3
    for path in files:
        found = json.loads(path.read_text(encoding="utf-8"))
        for key, kind in KEYS.items():
            assert found[key] is None if kind is None else isinstance(found[key], kind), key
        assert found.keys() == KEYS.keys()
        assert found["config"].keys() >= CONFIG_KEYS
        assert path.parent.name == found["model_name_sanitized"]
        assert ":" not in path.name
        own = found["results"][TASK]
        assert set(own) == {"alias"} | {
            f"{metric}{error},{filter_}"
            for metric in ("exact", "length")
            for error in ("", "_stderr")
            for filter_ in ("none", "upper")
        }
        assert all(isinstance(value, float) for name, value in own.items() if name != "alias")
        assert found["n-samples"][TASK] == {"original": 6, "effective": 2}
        assert found["versions"][TASK] == 3
        assert found["higher_is_better"][TASK] == {"exact": True, "length": False}
        assert found["configs"][TASK]["generation_kwargs"]["until"] == list("=AEFKSX")
        assert found["configs"][TASK]["repeats"] == 2
        float(found["total_evaluation_time_seconds"])
    assert {json.loads(path.read_text())["config"]["gen_kwargs"]["method"] for path in files} == {
        "dsbd", "beam_sampling", "hf_sampling",
    }  # fmt: skip


def test_samples_are_columns_of_one_type(report):
    """Catches null in one line and a value in the next: such a file cannot be loaded as a table."""
    files = [path for path in report.files if path.name.startswith("samples_")]
    assert len(files) == 3
    for path in files:
        samples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [(one["doc_id"], one["filter"]) for one in samples] == [
            (0, "none"), (1, "none"), (0, "upper"), (1, "upper")
        ]  # fmt: skip
        assert all(one.keys() == SAMPLE_KEYS for one in samples)
        assert all(shape(one) == shape(samples[0]) for one in samples)
        assert all(len(one["resps"]) == 1 and len(one["resps"][0]) == 2 for one in samples)
        assert samples[0]["arguments"]["gen_args_0"]["arg_0"] == "Say once"
        assert samples[0]["arguments"]["gen_args_0"]["arg_1"]["until"] == list("=AEFKSX")


def test_scoring_again_gives_the_same_files(report):
    """Catches scores that depend on anything but the predictions."""
    before = {path: path.read_bytes() for path in report.files}
    again = score_folder(report.files[0].parents[1], log_samples=True, tasks=[Quiz()])
    assert again == report
    assert {path: path.read_bytes() for path in again.files} == before


def test_the_table_has_a_row_for_each_contender(report):
    text = summary_table(report)
    assert [line.split("|")[2].strip() for line in text.splitlines()[2:5]] == [
        "dsbd same-law", "beam_sampling", "hf_sampling",
    ]  # fmt: skip
    assert "quiz: a toy." in text
    assert "not measured" in text
    assert "Not complete" not in text
    assert report.to_dict()["complete"] is True


def scored_texts(texts_of):
    """Score a made-up decoder; ``texts_of`` gives the text for a task and a question."""
    asked = make_exam([Quiz()], exam(("sampling",)).contenders)
    (run,) = asked.runs
    made = [made_up_prediction(run, number, texts_of(number)) for number in range(len(run.questions))]
    return asked, run, score_all(asked, made)


def test_a_decoder_of_right_answers_scores_100():
    asked, run, scored = scored_texts(lambda number: f" yes {number}=and so on =")
    assert [one.main("exact") for one in scored] == [1.0] * 6
    assert {one.answers["upper"] for one in scored} == {f"YES {number}" for number in range(6)}
    (row,) = table_of(run, asked, scored, {}).rows
    assert row.quality.mean == 1.0
    assert (row.right.share, row.right.high) == (1.0, 1.0)


def test_a_decoder_of_answers_to_other_questions_scores_0():
    _, _, scored = scored_texts(lambda number: f" yes {(number + 1) % 6}=")
    assert [one.main("exact") for one in scored] == [0.0] * 6
    assert {one.scores["none"].reason for one in scored} == {"another text"}


def test_seeds_of_a_question_are_one_sample():
    """Catches a metric of the first seed only."""
    asked = make_exam([Quiz()], exam(("sampling",)).contenders, seeds=2)
    (run,) = asked.runs
    made = [made_up_prediction(run, 0, text, turn=turn) for turn, text in ((1, " no="), (0, " yes 0="))]
    sample = samples_of(run, asked.contenders[0], score_all(asked, made))[0]
    assert sample["exact"] == 0.5
    assert sample["filtered_resps"] == ["yes 0", "no"]
    assert sample["dsbd"]["seeds"] == [0, 1]
    assert sample["target"] == "yes 0"


def test_serving_names_have_their_definitions():
    """Catches tokens per second without the prompt, and an acceptance length without the bonus token."""
    (run,) = make_exam([Quiz()], exam(("sampling",)).contenders).runs
    drafting = Drafting(steps=(2, 1, 3), drafted_layers=12, accepted=9, rejected=4)
    made = [
        made_up_prediction(run, 0, "", seconds=2.0, first_token_seconds=0.5, new_tokens=4, drafting=drafting),
        made_up_prediction(run, 1, "", seconds=4.0, first_token_seconds=1.5, new_tokens=6),
    ]
    found = serving_figures(made)
    assert (found["completed"], found["failed"], found["duration"]) == (2, 0, 6.0)
    assert (found["total_input_tokens"], found["total_output_tokens"]) == (10, 10)
    assert found["output_throughput"] == pytest.approx(10 / 6)
    assert found["total_token_throughput"] == pytest.approx(20 / 6)
    assert found["mean_ttft_ms"] == pytest.approx(1000)
    assert found["mean_tpot_ms"] == pytest.approx(500)
    assert found["median_e2el_ms"] == pytest.approx(3000)
    assert found["spec_decode_num_drafts"] == 6
    assert found["spec_decode_accepted_tokens"] == 7
    assert found["spec_decode_acceptance_length"] == found["accept_length"] == pytest.approx(1 + 7 / 6)
    assert found["spec_decode_acceptance_rate"] == pytest.approx(100 * 7 / 12)
    assert found["spec_decode_per_position_acceptance_rates"] == pytest.approx([4 / 6, 3 / 6])
    assert found["accepted_per_step"] == [2, 1, 3]
    nothing = serving_figures(made[1:])
    assert nothing["spec_decode_acceptance_length"] is nothing["spec_decode_acceptance_rate"] is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": ["riddles"]}, "'riddles'"),
        ({"tasks": [Quiz(), Quiz()]}, "name each once"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": True}, "limit is True"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": 10**6}, "seeds is 1000000"),
        ({"data": {"squad": "x"}}, "'squad'"),
        ({"methods": ["magic"]}, "'magic'"),
        ({"temprature": 1.0}, "'temprature'"),
        ({"temperature": -1.0}, "temperature is -1"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_new_tokens": 200}, "leaves no room"),
    ],
    ids=range(13),
)
def test_bad_values_are_named_before_a_folder_is_made(tmp_path, changes, named):
    asked = {"tasks": [Quiz()], "methods": ["sampling"]} | changes
    with pytest.raises(SettingsError, match=named):
        dsbd.evaluate(toy_pair(), output=tmp_path / "new", **asked)
    assert not (tmp_path / "new").exists()


def test_a_folder_without_an_evaluation_cannot_be_scored(tmp_path):
    with pytest.raises(SettingsError, match=r"has no evaluation\.json"):
        score_folder(tmp_path)
    (tmp_path / "evaluation.json").write_text('{"format": "other"}')
    with pytest.raises(SettingsError, match="is not the head of an evaluation"):
        score_folder(tmp_path)
