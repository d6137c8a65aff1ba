"""``transformers.generate`` as an opponent."""

import torch

from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure
from dsbd.measure.bench.transformers_generate import _trimmed
from tests.measure.bench.contests import contest_of
from tests.toy_pair import EOS, toy_pair


def test_transformers_text_is_what_it_generates():
    """Catches a seed, a temperature, a top-k or a number of beams that is not passed on: the same call by hand."""
    contest, results = contest_of(("hf_beam_sampling",), rounds=1, temperature=0.8, top_k=7), ResultsFile()
    list(measure(toy_pair(), contest, results))
    ids = torch.tensor([toy_pair().encode("Once")])
    torch.manual_seed(0)
    by_hand = toy_pair().target.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, num_beams=4, num_return_sequences=4,
        temperature=0.8, top_k=7, top_p=1.0, max_new_tokens=5, pad_token_id=256,
    )  # fmt: skip
    assert results.find(contest.contenders[0], "Once", 0).text == toy_pair().decode(by_hand[0, ids.shape[1] :].tolist())


def test_padding_after_the_end_is_no_text():
    """Catches padding that counts as text: a beam that ended early looks long, and its perplexity is wrong."""
    assert _trimmed([5, EOS, EOS, 7], toy_pair()) == [5, EOS]
    assert _trimmed([5, 6], toy_pair()) == [5, 6]
