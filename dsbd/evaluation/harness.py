"""Results and samples in the JSON layout of lm-evaluation-harness, so that tools for it can read them.

Each contender has a folder, as if it were a model of its own. What has no place in that layout stands under ``dsbd``.
docs/evaluation.md describes the files.
"""

import hashlib
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from dsbd.evaluation.records import PREFIX, Exam, TaskRun
from dsbd.evaluation.scoring import Scored
from dsbd.evaluation.serving import serving_figures
from dsbd.evaluation.statistics import clustered_mean, clustered_perplexity
from dsbd.evaluation.tables import EvaluationTable
from dsbd.measure.bench.contenders import Contender
from dsbd.methods import resolve
from dsbd.tasks.records import Question

PERPLEXITY = "perplexity"
NOT_AVAILABLE = "N/A"
"""What the harness writes where there is no standard error."""


def results_of(
    contender: Contender,
    exam: Exam,
    head: Mapping[str, Any],
    scored: Sequence[Scored],
    tables: Mapping[str, EvaluationTable],
) -> dict[str, Any]:
    """Return the results of one contender as plain data.

    Args:
        contender: with ``auto`` resolved.
        exam: what was asked.
        head: of the folder.
        scored: what the contender answered, at least once.
        tables: of all contenders, by task; the contender's own rows go under ``dsbd``.
    """
    runs = [run for run in exam.runs if any(one.prediction.task == run.name for one in scored)]
    by_task = {run.name: [one for one in scored if one.prediction.task == run.name] for run in runs}
    seconds = sum(one.prediction.seconds for one in scored)
    name, template = model_name(contender, head), head["chat_template"]
    own = {PREFIX + run.name: run for run in runs}
    return {
        "results": {task: _result(run, by_task[run.name]) for task, run in own.items()},
        "group_subtasks": {task: [] for task in own},
        "configs": {task: _config(run, exam, contender) for task, run in own.items()},
        "versions": {task: run.task.version for task, run in own.items()},
        "n-shot": dict.fromkeys(own, 0),
        "higher_is_better": {task: _directions(run) for task, run in own.items()},
        "n-samples": {
            task: {"original": run.available, "effective": _questions(by_task[run.name])} for task, run in own.items()
        },
        "config": _run_config(contender, exam, head),
        "git_hash": None,
        "date": head["date"],
        "pretty_env_info": json.dumps(head["conditions"]["machine"] | head["conditions"]["versions"]),
        "transformers_version": head["conditions"]["versions"]["transformers"],
        "lm_eval_version": None,
        "upper_git_hash": None,
        **{f"tokenizer_{name}_token": pair for name, pair in head["tokenizer"].items()},
        "eot_token_id": None,
        "max_length": head["context"],
        "task_hashes": {task: _task_hash(run, by_task[run.name]) for task, run in own.items()},
        "model_source": "dsbd",
        "model_name": name,
        "model_name_sanitized": sanitised(name),
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": False,
        "chat_template": template,
        "chat_template_sha": None if template is None else _hash(template),
        "total_evaluation_time_seconds": str(seconds),
        "dsbd": {
            "contender": contender.name,
            "method": contender.method,
            "auto": contender.auto_reason,
            "conditions": head["conditions"],
            "tasks": {task: _own_figures(by_task[run.name], tables[run.name]) for task, run in own.items()},
        },
    }


def _run_config(contender: Contender, exam: Exam, head: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the harness says about a model and a run of it."""
    target, seed = head["conditions"]["models"]["target"], contender.settings.seed
    return {
        "model": "dsbd",
        "model_args": _model_args(head),
        "model_num_parameters": target["parameters"],
        "model_dtype": target["dtype"],
        "model_revision": target["revision"] or "",
        "model_sha": target["digest"],
        "batch_size": 1,
        "batch_sizes": [],
        "device": head["conditions"]["machine"]["device"],
        "use_cache": None,
        "limit": exam.limit,
        "bootstrap_iters": 0,
        "gen_kwargs": gen_kwargs(contender),
        "random_seed": seed,
        "numpy_seed": seed,
        "torch_seed": seed,
        "fewshot_seed": seed,
    }


def samples_of(run: TaskRun, contender: Contender, scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Return one sample for each question and filter; the seeds of a question are the responses of one sample.

    Args:
        run: the task.
        contender: who answered.
        scored: its answers to this task.
    """
    place = {question.id: number for number, question in enumerate(run.questions)}
    by_question: dict[str, list[Scored]] = {}
    for one in sorted(scored, key=lambda one: (place[one.prediction.question], one.prediction.turn)):
        by_question.setdefault(one.prediction.question, []).append(one)
    return [
        _sample(run, contender, place[name], own, filter_)
        for filter_ in run.task.filters
        for name, own in by_question.items()
    ]


def gen_kwargs(contender: Contender) -> dict[str, Any]:
    """Return the decoding settings that a contender reads, and whether it samples; new tokens belong to the task."""
    settings = contender.settings
    read = {name: getattr(settings, name) for name in contender.reads if name != "max_new_tokens"}
    return {"method": contender.method, "do_sample": resolve(settings).temperature > 0, **read}


def model_name(contender: Contender, head: Mapping[str, Any]) -> str:
    """Return the name of target and contender together: to a reader of results each contender is a model."""
    return f"{head['conditions']['models']['target']['id']}/{contender.name.replace(' ', ',')}"


def sanitised(name: str) -> str:
    """Return a name that can be a folder, by the rule of the harness."""
    return re.sub(r"[\"<>:/\|\\?\*\[\]]+", "__", name)


def _result(run: TaskRun, scored: Sequence[Scored]) -> dict[str, Any]:
    found: dict[str, Any] = {"alias": PREFIX + run.name}
    for filter_ in run.task.filters:
        for metric in run.task.metrics or (PERPLEXITY,):
            values = _by_question(scored, filter_, metric)
            mean = (clustered_perplexity if metric == PERPLEXITY else clustered_mean)(values, range(len(values)))
            found[f"{metric},{filter_}"] = mean.mean
            found[f"{metric}_stderr,{filter_}"] = NOT_AVAILABLE if mean.standard_error is None else mean.standard_error
    return found


def _by_question(scored: Sequence[Scored], filter_: str, metric: str) -> list[float]:
    """Return the mean over the seeds of each question."""
    found: dict[str, list[float]] = {}
    for one in scored:
        found.setdefault(one.prediction.question, []).append(_value(one, filter_, metric))
    return [_over_seeds(values, metric) for values in found.values()]


def _over_seeds(values: Sequence[float], metric: str) -> float:
    return statistics.geometric_mean(values) if metric == PERPLEXITY else statistics.fmean(values)


def _value(one: Scored, filter_: str, metric: str) -> float:
    return float(one.prediction.perplexity if metric == PERPLEXITY else one.scores[filter_].metrics[metric])


def _directions(run: TaskRun) -> dict[str, bool]:
    return dict(run.task.metrics) or {PERPLEXITY: False}


def _config(run: TaskRun, exam: Exam, contender: Contender) -> dict[str, Any]:
    kwargs = gen_kwargs(contender)
    kept = {name: kwargs[name] for name in ("do_sample", "temperature") if name in kwargs}
    return {
        "task": PREFIX + run.name,
        "dataset_path": run.data or "bundled",
        "output_type": "generate_until",
        "num_fewshot": 0,
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": higher}
            for metric, higher in _directions(run).items()
        ],
        "generation_kwargs": {"until": list(run.task.until), "max_gen_toks": run.max_new_tokens, **kept},
        "repeats": exam.seeds,
        "filter_list": [{"name": name} for name in run.task.filters],
        "should_decontaminate": False,
        "metadata": {"version": run.task.version, "licence": run.task.licence, "note": run.task.note},
    }


def _own_figures(scored: Sequence[Scored], table: EvaluationTable) -> dict[str, Any]:
    predictions = [one.prediction for one in scored]
    rows = table.to_dict()["rows"]
    return {
        "row": next(row for row in rows if row["contender"] == predictions[0].contender),
        "baseline": table.baseline,
        "clusters": table.clusters,
        "shortened_prompts": len({one.question for one in predictions if one.shortened}),
        "ended": {reason: sum(one.ended == reason for one in predictions) for reason in ("eos", "until", "limit")},
        "processes": max(one.processes for one in predictions),
        "serving": serving_figures(predictions),
    }


def _sample(run: TaskRun, contender: Contender, number: int, own: Sequence[Scored], filter_: str) -> dict[str, Any]:
    task, question, first = run.task, run.questions[number], own[0].prediction
    options = {"until": list(task.until), "max_gen_toks": run.max_new_tokens, **gen_kwargs(contender)}
    target = question.references[0] if question.references else ""
    metrics = list(task.metrics or (PERPLEXITY,))
    predictions = [one.prediction for one in own]
    return {
        "doc_id": number,
        "doc": _doc(question),
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": first.prompt, "arg_1": options}},
        "resps": [[one.text for one in predictions]],
        "filtered_resps": [one.answers[filter_] for one in own],
        "filter": filter_,
        "metrics": metrics,
        "doc_hash": _hash(json.dumps(_doc(question), ensure_ascii=False)),
        "prompt_hash": _hash(first.prompt),
        "target_hash": _hash(target),
        **{metric: _over_seeds([_value(one, filter_, metric) for one in own], metric) for metric in metrics},
        "dsbd": {
            "seeds": [one.seed for one in predictions],
            "scores": [[_value(one, filter_, metric) for metric in metrics] for one in own],
            "reasons": [one.scores[filter_].reason for one in own],
            "perplexities": [one.perplexity for one in predictions],
            "seconds": [one.seconds for one in predictions],
            "new_tokens": [one.new_tokens for one in predictions],
            "ended": [one.ended for one in predictions],
            "shortened": [one.shortened for one in predictions],
        },
    }


def _doc(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "prompt": question.prompt,
        "references": list(question.references),
        "cluster": question.cluster,
        "fields": dict(question.fields),
    }


def _questions(scored: Sequence[Scored]) -> int:
    return len({one.prediction.question for one in scored})


def _task_hash(run: TaskRun, scored: Sequence[Scored]) -> str:
    asked = {one.prediction.question for one in scored}
    return _hash("".join(_hash(json.dumps(_doc(one))) for one in run.questions if one.id in asked))


def _model_args(head: Mapping[str, Any]) -> str:
    models = head["conditions"]["models"]
    return ",".join(f"{role}={model['id']}" for role, model in models.items() if model is not None)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
