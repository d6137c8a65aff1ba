"""The model ``dsbd`` of lm-evaluation-harness."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import dsbd
from dsbd.errors import SettingsError
from dsbd.util import cut

ROOT = Path(__file__).resolve().parents[2]


def test_the_entry_point_names_a_class_that_is_there():
    """Catches a model that lm_eval looks for where it no longer is; needs no lm_eval."""
    table = (ROOT / "pyproject.toml").read_text().split('[project.entry-points."lm_eval.models"]')[1]
    module, name = re.search(r'dsbd = "([\w.]+):(\w+)"', table).groups()
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


@pytest.fixture(scope="module")
def model(toy_folders):
    """Return a function that makes the model of a toy pair with these settings."""
    plugin = pytest.importorskip("dsbd.commands.lm_eval_model", reason="needs lm_eval", exc_type=ImportError)
    given = {"target": toy_folders["target"], "draft": toy_folders["draft"], "device": "cpu", "dtype": "float32"}
    return lambda **settings: plugin.DsbdLM(**given, **settings)


def asked(prompt="Once", **options):
    return SimpleNamespace(args=(prompt, {"max_gen_toks": 8, **options}))


def test_answers_are_decodes_up_to_their_end(model):
    """Catches an end that is not passed on, and options of the task that win over those of the user."""
    greedy = model(method="beam_sampling", num_beams=2)
    (whole,) = greedy.generate_until([asked()], disable_tqdm=True)
    settings = dsbd.DecodingSettings(method="beam_sampling", num_beams=2, max_new_tokens=8, temperature=0.0)
    assert whole == dsbd.decode(greedy._pair, "Once", settings).text
    assert greedy.generate_until([asked(until=[whole[2]])], disable_tqdm=True) == [cut(whole, [whole[2]])]
    assert len(greedy.generate_until([asked("x" * 400)], disable_tqdm=True)) == 1
    fixed, _ = model(method="specinfer", max_new_tokens=3, temperature=0.5, branching="3x2")._asked(
        {"max_gen_toks": 99, "do_sample": False}
    )
    assert (fixed.max_new_tokens, fixed.temperature, fixed.branching) == (3, 0.5, (3, 2))


def test_repeats_differ_and_come_again(model):
    """Catches one seed for all repeats of a question, and answers that no second run gives."""
    requests = [asked(do_sample=True, temperature=1.5)] * 4
    texts = model(method="sampling").generate_until(requests, disable_tqdm=True)
    assert len(set(texts)) > 1
    assert model(method="sampling").generate_until(requests, disable_tqdm=True) == texts


def test_what_it_cannot_do_is_a_sentence(model):
    with pytest.raises(SettingsError, match="there is no setting 'beams'"):
        model(beams=2)
    with pytest.raises(SettingsError, match="generation_kwargs has 'min_p'"):
        model().generate_until([asked(min_p=0.1)], disable_tqdm=True)
    with pytest.raises(NotImplementedError, match="the likelihood of a given text"):
        model().loglikelihood([])
