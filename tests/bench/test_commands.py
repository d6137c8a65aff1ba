"""``bench`` and ``eval`` as a user meets them, and the model ``dsbd`` of lm-evaluation-harness."""

import json
from types import SimpleNamespace

import pytest

import dsbd
from dsbd.errors import SettingsError
from dsbd.util import cut
from tests.command_line import refused, run


@pytest.mark.slow
def test_a_bench_and_an_evaluation_write_lines_and_a_table(capsys, pair_flags, tmp_path):
    prompts, output = tmp_path / "prompts.txt", tmp_path / "runs.jsonl"
    prompts.write_text("Once\n\nThe fox\nOnce\n", encoding="utf-8")
    flags = ["bench", *pair_flags, "--prompts", str(prompts), "--seeds", "1", "--max-new-tokens", "4"]
    code, out, _ = run(capsys, *flags, "--output", str(output), "--draft-depth", "1", "--json")
    assert (code, out.count("\n")) == (0, 1)
    table = json.loads(out)["tables"]["prompts"]
    names = [row["system"] for row in table["rows"]]
    assert names == ["dsbd defaults", "dsbd exact", "beam_sampling", "hf_beam_sampling"]
    assert table["questions"] == 2  # an empty line is no prompt, a repeated one counts once
    lines = [json.loads(line)["record"] for line in output.read_text(encoding="utf-8").splitlines()]
    assert lines == ["conditions", *["decode"] * 8]
    assert "exists; go on with it by --resume" in refused(capsys, *flags, "--output", str(output))
    code, out, _ = run(capsys, *flags, "--methods", "dsbd,beam_sampling")
    assert code == 0
    assert out.startswith("| task ")
    assert "beside beam_sampling" in out
    flags = ["--tasks", "stories", "--limit", "2", "--max-new-tokens", "4", "--methods", "dsbd:exact,beam_sampling"]
    code, out, _ = run(capsys, "eval", *flags, *pair_flags, "--json")
    assert (code, json.loads(out)["complete"], len(json.loads(out)["tables"]["stories"]["rows"])) == (0, True, 2)


def test_a_file_of_prompts_and_an_evaluation_are_shared_and_resumed(capsys, pair_flags, tmp_path, monkeypatch):
    """Catches a flag that is not passed on."""
    prompts, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    prompts.write_text("\n".join(json.dumps({"prompt": text}) for text in ("Once", "a" * 200, "One")), encoding="utf-8")
    flags = ["decode", "--prompts", str(prompts), "--output", str(output), "--max-new-tokens", "4", *pair_flags]
    written = []
    for _ in range(2):
        code, out, err = run(capsys, *flags, "--resume", "--json")
        assert (code, json.loads(out)) == (0, {"output": str(output), "prompts": 3, "failed": 1})
        assert "1 prompts failed" in err
        written.append([json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()])
    assert written[0] == written[1]
    _, first, second, _ = written[0]
    assert (first["id"], len(first["token_ids"]), second["id"]) == ("1", 4, "2")
    assert "exceeds the context" in second["error"]
    files, chosen = [], ["--limit", "2", "--max-new-tokens", "2", "--methods", "sampling"]
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        code, out, err = run(capsys, "eval", "--tasks", "stories", *chosen, "--output", str(output), *pair_flags)
        files.append(str(output.with_name(f"out.{rank}-of-2.jsonl")))
        assert (code, out, f"{files[-1]} has shard {rank} of 2" in err) == (0, "", True)
    code, out, _ = run(capsys, "report", *files, "--json")
    assert (code, json.loads(out)["tables"]["stories"]["questions"]) == (0, 2)
    code, out, err = run(capsys, "report", files[0])
    assert (code, out.startswith("| task "), "1 decodes are missing" in err) == (1, True, True)


@pytest.fixture(scope="module")
def model(toy_folders):
    """Return a function that makes the model of a toy pair with these settings."""
    plugin = pytest.importorskip("dsbd.commands.lm_eval_model", reason="needs lm_eval", exc_type=ImportError)
    files = {"target": toy_folders["target"], "draft": toy_folders["draft"], "device": "cpu", "dtype": "float32"}
    return lambda **settings: plugin.DsbdLM(**files, **settings)


def request(prompt="Once", **options):
    return SimpleNamespace(args=(prompt, {"max_gen_toks": 8, **options}))


def test_answers_are_decodes_up_to_their_end(model):
    """Catches an end that is not passed on, and options of the task that win over those of the user."""
    greedy = model(method="beam_sampling", num_beams=2)
    (whole,) = greedy.generate_until([request()], disable_tqdm=True)
    settings = dsbd.DecodingSettings(method="beam_sampling", num_beams=2, max_new_tokens=8, temperature=0.0)
    assert whole == dsbd.decode(greedy._pair, "Once", settings).text
    assert greedy.generate_until([request(until=[whole[2]])], disable_tqdm=True) == [cut(whole, [whole[2]])]
    assert len(greedy.generate_until([request("x" * 400)], disable_tqdm=True)) == 1
    with pytest.raises(SettingsError, match="leaves no room for a prompt"):  # it looked for room without end
        greedy.generate_until([request(max_gen_toks=128)], disable_tqdm=True)
    fixed, _ = model(method="specinfer", max_new_tokens=3, temperature=0.5, branching="3x2")._settings(
        {"max_gen_toks": 99, "do_sample": False}
    )
    assert (fixed.max_new_tokens, fixed.temperature, fixed.branching) == (3, 0.5, (3, 2))


def test_repeats_differ_and_come_again(model):
    """Catches one seed for all repeats of a question, and answers that no second run gives."""
    requests = [request(do_sample=True, temperature=1.5)] * 4
    texts = model(method="sampling").generate_until(requests, disable_tqdm=True)
    assert len(set(texts)) > 1
    assert model(method="sampling").generate_until(requests, disable_tqdm=True) == texts


def test_what_it_cannot_do_is_a_sentence(model):
    with pytest.raises(SettingsError, match="there is no setting 'beams'"):
        model(beams=2)
    with pytest.raises(SettingsError, match="generation_kwargs has 'min_p'"):
        model().generate_until([request(min_p=0.1)], disable_tqdm=True)
    with pytest.raises(SettingsError, match="the likelihood of a given text"):
        model().loglikelihood([])
    with pytest.raises(SettingsError, match="chat=True in --model_args"):
        _ = model().tokenizer_name
