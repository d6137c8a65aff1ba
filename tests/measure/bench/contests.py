"""Small contests."""

from dsbd.measure.bench.contenders import Contest, contenders

CONDITIONS = {"machine": {"cores": 2}, "versions": {"torch": "1"}}
ALL = ("dsbd", "beam_sampling", "sampling", "hf_beam_sampling", "hf_beam_search", "hf_assisted", "hf_sampling")


def contest_of(methods=("dsbd", "beam_sampling"), rounds=2, **values):
    values = {"max_new_tokens": [5], **{name: [value] for name, value in values.items()}}
    return Contest(contenders(methods, ["defaults"], values), ("Once", "The fox"), rounds)
