"""The draws of a forest, its best beam, and the search of blocks, against slow twins."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dsbd
import dsbd.next_tokens
from dsbd.draft import WORTHLESS, Drafter
from dsbd.drafts import block
from dsbd.drafts.lookup import PromptLookup
from dsbd.drafts.model import DraftModel
from dsbd.errors import ModelError
from dsbd.iteration import Iteration
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.next_tokens import copied_next_tokens, host_next_tokens, read_keys, token_log_probs, top_keys
from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import TopTokens, joint_distribution
from dsbd.verification.forest import LEAST_DRAFT_PROB
from dsbd.verification.noise import Noise
from tests.toy_pair import Digits, read_by_host, small_model, tied, toy_pair
from tests.verification.oracle import Path, Process, Tables, Warp, Weighted, gumbel, multiset, p_value
from tests.verification.test_end_to_end import ModelTables

EXACT = 1e-12
FALSE_ALARM = 1e-6
"""Odds that a chi-square test below fails though the code is right (seeds are fixed, so: that it ever did)."""
CPU = torch.device("cpu")
TABLES = Tables(3, vocabulary=4, eos=3)
ROOT, PROMPT = Node(None, -1, 0), (5, 7)


class TableRow:
    """A row of the draft model whose distributions are a table's."""

    def begin(self, beams: list[Node], room: int) -> None:
        self.paths: list[Path] = [tuple(beam.token_ids()) for beam in beams]
        self.is_first, self.assigned = True, []

    def assign(self, nodes: list[Node]) -> None:
        self.assigned = nodes

    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes) -> torch.Tensor:
        fed = [(*self.paths[parent], token) for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True)]
        self.paths += fed
        paths = self.paths if self.is_first else fed
        self.is_first = False
        return torch.tensor([TABLES.next_token["draft"](path) for path in paths], dtype=torch.float64).log() + 1.0


def drafter(row, seed: int = 0, **settings) -> Drafter:
    chosen = ResolvedSettings(**settings)
    generator, noise = torch.Generator().manual_seed(seed), Noise(seed, PROMPT, ROOT)
    return Drafter(DraftModel(row, chosen, CPU), chosen, PROMPT, TABLES.eos, generator, noise)


def drafted(drafter: Drafter, beams: list[Beam], depth: int) -> Iteration:
    """Return an iteration with its forest."""
    iteration = Iteration(0, beams)
    drafter.draft(iteration, depth)
    return iteration


def guesses(distribution: list[tuple[Path, float]], before: dict[Path, float], settings, seed: int):
    """Of a layer of a coupled forest: the beams that are extended with their draws, the margins and the nodes."""
    width, replacement = settings.max_width, settings.replacement
    values = [
        {path: math.log(mass) + gumbel(seed, PROMPT, path, draw) for path, mass in distribution}
        for draw in range(width if replacement else 1)
    ]
    margins, draws = {path: before.get(path[:-1], 0.0) for path, _ in distribution}, Counter()
    if settings.temperature > 0:
        sure = [path for path in margins if margins[path] == 0]
        drawn = [sorted(sure, key=lambda path: -row[path])[: 1 if replacement else width] for row in values]
        needed = [row[some[-1]] if len(some) == (1 if replacement else width) else -math.inf
                  for row, some in zip(values, drawn, strict=True)]  # fmt: skip
        draws = Counter(path for some in drawn for path in some)
        for path in margins:
            margins[path] += min(max(least - row[path], 0.0) for row, least in zip(values, needed, strict=True))
    order = sorted((path for path in margins if margins[path] <= WORTHLESS), key=lambda path: (margins[path], path))
    order = [path for path, _ in distribution] if settings.temperature == 0 else order
    drafts, left = order[: settings.draft_width], order[settings.draft_width :]
    extras = [path for path in left if path[-1] not in TABLES.eos][: settings.cover_width]
    return tuple((path, draws[path] or 1) for path in drafts), margins, [*drafts, *extras]


COUPLED = {"forest": "coupled", "min_width": 3, "max_width": 3}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 0.5, "cover_width": 2},
        {"replacement": False, "cover_width": 5},
        {"top_p": 0.5, "cover_width": 2},
        {"replacement": False},
        {"replacement": False, "top_p": 0.5},
        {"replacement": False, "top_k": 2},
        {"replacement": False, "temperature": 0.0},
        {"temperature": 0.0, "cover_width": 2},
        *(
            COUPLED | changes
            for changes in (
                {},
                {"top_k": 6, "cover_width": 3},
                {"top_p": 0.5, "temperature": 2.0},
                {"replacement": False, "cover_width": 2},
                {"replacement": False, "top_k": 2, "draft_width": 2},
                {"replacement": False, "temperature": 0.0},
                {"temperature": 0.0},
            )
        ),
    ],
    ids=str,
)
def test_each_layer_is_drawn_from_the_distribution_below_the_distinct_drafts_above_it(changes) -> None:
    """Catches nodes below which nothing is drawn, or twice, or with another weight, and extra candidates that were
    drafted, that end or that are not the likeliest before the distribution is cut: legal, but slower. Each node is fed
    once, behind its parent."""
    chosen = {"draft_depth": 3, "draft_width": 5} | changes
    settings = ResolvedSettings(**chosen)
    inputs = [Weighted((0,), -0.5, 1 + settings.replacement), Weighted((1,), -0.9, 1)]
    process = Process(TABLES, inputs, Warp(settings.temperature, settings.top_k, settings.top_p, settings.replacement))
    uncut = Process(TABLES, inputs, Warp(settings.temperature or 1.0, settings.top_k, 1.0, settings.replacement))
    beams = [Beam(ROOT.child(one.path[0]), one.log_weight, one.multiplicity) for one in inputs]
    for seed in range(4):
        row = TableRow()
        forest = drafted(drafter(row, seed, **chosen), beams, 3)
        assert [tuple(node.token_ids()) for node in row.assigned] == row.paths[2:]
        fed = [node for nodes in forest.groups for node in nodes]
        assert len(set(row.paths)) == len(row.paths)
        assert len(fed) == len(set(fed)) == len(forest.draft_log_probs)
        for node in fed:
            table = TABLES.next_token["draft"](tuple(node.parent.token_ids()))
            assert forest.draft_log_probs[node] == pytest.approx(math.log(table[node.token]))
        alive, margins = tuple((one.path, one.multiplicity) for one in inputs), {}
        for layer in forest.drafted:
            distribution = layer.distribution
            candidates = zip(
                distribution.parent_indices.tolist(),
                distribution.tokens.tolist(),
                distribution.probs.tolist(),
                strict=True,
            )
            probs = {
                (*distribution.parents[index].token_ids(), token): 1.0 if distribution.ranked else q
                for index, token, q in candidates
            }
            expected = process.distribution(alive, "draft")
            assert probs == pytest.approx(dict(expected), abs=EXACT)
            drafts, extras = ([tuple(node.token_ids()) for node in nodes] for nodes in (layer.drafts, layer.untested))
            if settings.forest == "coupled":
                alive, margins, least = guesses(expected, margins, settings, seed)
                assert (drafts, layer.draft_probs, extras) == ([], [], least)
                alive = process.living(alive)
                continue
            assert layer.draft_probs == [probs[path] for path in drafts]
            expected = dict(uncut.distribution(alive, "draft"))
            left = [path for path in sorted(expected, key=lambda path: -expected[path]) if path not in drafts]
            assert extras == [path for path in left if path[-1] not in TABLES.eos][: settings.cover_width]
            assert settings.replacement or len(drafts) == len(set(drafts))
            alive = process.living(multiset(drafts))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("branching", [None, (2,)])
def test_draws_follow_the_distribution(replacement, branching) -> None:
    """Catches a race over another distribution, or in an order that is not that of the draws."""
    row, drawn = TableRow(), []
    one = drafter(row, 2, draft_depth=1, draft_width=2, replacement=replacement, branching=branching)
    for _ in range(4000):
        (layer,) = drafted(one, [Beam(ROOT.child(0), 0.0)], 1).drafted
        drawn.append(tuple(node.token for node in layer.drafts))
    distribution = TABLES.next_token["draft"]((0,))
    expected = {(a, b): distribution[a] * distribution[b] / (1 if replacement else 1 - distribution[a])
             for a in range(4) for b in range(4) if replacement or a != b}  # fmt: skip
    assert p_value(drawn, expected) > FALSE_ALARM


def test_candidates_below_the_least_probability_are_not_drafted() -> None:
    """Catches subnormal probabilities in Q: one divided by what is left of Q would be infinite."""
    row = TableRow()
    row.forward = lambda *_: torch.tensor([[0.0, -6.90, -6.92, -7.4]], dtype=torch.float64)
    one = drafter(row, temperature=0.01, top_k=0, replacement=False, draft_width=4)
    (layer,) = drafted(one, [Beam(ROOT.child(0), -0.5)], 1).drafted
    assert [node.token for node in layer.drafts] == layer.distribution.tokens.tolist() == [0, 1]
    assert layer.distribution.probs.min() >= LEAST_DRAFT_PROB


@pytest.mark.parametrize("at_hand", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {"method": "mjsd", "temperature": 0.0},
        {"method": "mjsd"},
        {"method": "mjgd"},
        {"method": "speculative_beam_search", "draft_width": 16},
        {"method": "specinfer", "temperature": 0.0},
        {"temperature": 0.0, "replacement": False, "cover_width": 4},
        {"forest": "coupled", "min_width": 4, "top_k": 7},
    ],
    ids=str,
)
def test_an_honest_trace_of_models_whose_tokens_tie_is_accepted(settings, at_hand, monkeypatch) -> None:
    """Catches choice and rank from two searches that order ties otherwise: the audit refused such traces."""
    read_by_host(at_hand, monkeypatch)
    trace = dsbd.decode(tied(toy_pair()), "One day", record=True, max_new_tokens=12, **settings).trace
    report = dsbd.verify_trace(trace)
    assert report.passed, report.failure


VOCABULARY, EOS, START = 4, 1, 3


@pytest.fixture(scope="module", params=[2, 3, 4, 112])
def pair(request) -> Pair:
    target, draft = (small_model(VOCABULARY, seed, 0.3, spread=0.6) for seed in (request.param, 9))
    return make_pair(target, draft, Digits(START, EOS))


def ids(pair: Pair, **settings) -> Path:
    return tuple(dsbd.decode(pair, str(START), dsbd.DecodingSettings(**settings)).token_ids)


def likeliest(table, path: Path, depth: int) -> Path:
    """The likeliest block of ``depth`` tokens, or of fewer that end, by trying all."""
    every = [block for size in range(1, depth + 1) for block in product(range(VOCABULARY), repeat=size)
             if EOS not in block[:-1] and (size == depth or block[-1] == EOS)]  # fmt: skip
    return max(every, key=lambda one: math.prod(table((*path, *one[:at]))[token] for at, token in enumerate(one)))


@pytest.mark.parametrize("at_hand", [True, False])
def test_mjgd_is_greedy_at_one_and_the_mode_at_the_whole_length(pair, at_hand, monkeypatch) -> None:
    """Catches a search that ends with a block that is not the likeliest: that of seed 112 begins unlikely."""
    read_by_host(at_hand, monkeypatch)
    target, text = ModelTables(pair, [START]).next_token["target"], ()
    assert ids(pair, method="mjgd", block=1, max_new_tokens=6) == ids(pair, method="greedy", max_new_tokens=6)
    assert ids(pair, method="mjgd", block=3, max_new_tokens=3) == likeliest(target, (), 3)
    while len(text) < 5 and text[-1:] != (EOS,):
        text += likeliest(target, text, min(2, 5 - len(text)))
    assert ids(pair, method="mjgd", block=2, max_new_tokens=5) == text


def test_a_search_that_does_not_end_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(block, "MOST_EXTENDED", 1)
    with pytest.raises(dsbd.SettingsError, match=r"block is 3: .* first 1 beginnings .* take a smaller block"):
        dsbd.decode(tied(toy_pair()), "One day", dsbd.DecodingSettings(method="mjgd", block=3))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("top_k", [0, 1, 7, 50, 199, 300])
def test_copied_rows_break_ties_to_the_lowest_token(dtype: torch.dtype, top_k: int) -> None:
    """Catches an unstable top-k: coarse logits tie often, and verification must not depend on which came first."""
    logits = (torch.randn(5, 200, generator=torch.Generator().manual_seed(3)) * 4).round().to(dtype) + 0.0
    logits[0] = 0.0
    logits[1, ::3] = -torch.inf
    parents, tokens = torch.tensor([4, 0, 1]), torch.tensor([7, 199, 3])
    rows, own = copied_next_tokens(logits, top_k, "target", parents, tokens)
    exact = logits.double().log_softmax(1).numpy()
    for row, (ids, log_probs) in enumerate(rows):
        order = np.argsort(-logits[row].double().numpy(), kind="stable")[: top_k or None]
        assert ids.tolist() == sorted(order.tolist())
        assert np.allclose(log_probs, exact[row][ids], atol=1e-5)
    assert np.allclose(own, exact[parents, tokens], atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 2000), st.integers(1, 9), st.integers(0, 2**31))
def test_the_largest_entries_come_best_first(rows: int, size: int, count: int, seed: int) -> None:
    """Catches a tie broken away from the lowest index, and zeros of two signs that do not tie."""
    values = torch.randint(-4, 4, (rows, size), generator=torch.Generator().manual_seed(seed)).float()
    values[values == 3] = -torch.inf
    values[:, ::5] *= -1.0  # some zeros become -0.0
    values[values == torch.inf] = -3e38
    count = min(count, size)
    order = values.sort(dim=1, descending=True, stable=True)
    indices, best = read_keys(top_keys(values, count).numpy())
    assert indices.tolist() == order.indices[:, :count].tolist()
    assert best.tolist() == order.values[:, :count].tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.integers(2, 1500), st.integers(1, 60), st.sampled_from([2, 5, 1000]), st.integers(0, 2**9))
def test_a_few_tokens_more_than_asked_for_change_no_joint_distribution(rows, size, top_k, levels, seed) -> None:
    """Catches groups that hide a likelier token, a tie broken away from the lowest id, and rows cut wrongly."""
    source, top_k = np.random.default_rng(seed), min(top_k, size - 1)
    logits = torch.from_numpy(source.integers(0, levels, (rows, size)).astype(np.float32))
    logits[logits == 1] = -torch.inf
    logits[:, source.integers(size)] = 0.0
    log_probs = token_log_probs(logits).numpy()
    orders = [np.argsort(-row, kind="stable")[:top_k] for row in log_probs]
    exact = [TopTokens(order, row[order].astype(np.float64)) for order, row in zip(orders, log_probs, strict=True)]
    weights, counts = [-0.25 * row for row in range(rows)], [1 + row % 2 for row in range(rows)]
    several = [host_next_tokens(logits, top_k, "target"), copied_next_tokens(logits, top_k, "target")[0]]
    for row, more, order in zip(log_probs, several[0], orders, strict=True):
        assert set(order[row[order] > -np.inf].tolist()) <= set(more.tokens.tolist())
    twin = joint_distribution(exact, weights, counts, ResolvedSettings(top_k=top_k))
    for next_tokens in several:
        assert all((np.diff(row.tokens) > 0).all() for row in next_tokens)
        distribution = joint_distribution(next_tokens, weights, counts, ResolvedSettings(top_k=top_k))
        assert np.array_equal(distribution.keys, twin.keys)
        assert np.array_equal(distribution.probs, twin.probs)
        assert np.array_equal(distribution.log_weights, twin.log_weights)


@pytest.mark.parametrize("rows_of", [host_next_tokens, lambda *args: copied_next_tokens(*args)[0]])
@pytest.mark.parametrize("top_k", [0, 1])
def test_nan_is_refused(rows_of, top_k) -> None:
    """Catches a row without tokens where the model failed; minus infinity is a number here."""
    rows_of(torch.tensor([[-torch.inf, 1.0, 2.0]]), top_k, "draft")
    with pytest.raises(ModelError, match="the draft model returns logits that are not numbers"):
        rows_of(torch.tensor([[0.0, 1.0, 2.0], [0.0, torch.nan, 1.0]]), top_k, "draft")


def test_a_beam_without_a_guess_does_not_stop_the_others():
    """Catches copied drafts that wait until every beam has one."""
    beams = [Beam(ROOT.child(1), -1.0), Beam(ROOT.child(2), -1.0)]
    for chosen in (ResolvedSettings(), ResolvedSettings(**COUPLED)):
        one = Drafter(PromptLookup(), chosen, [3, 1, 0, 3], TABLES.eos, torch.Generator(), Noise(0, PROMPT, ROOT))
        assert [node.parent for node in drafted(one, beams, 1).drafts[0]] == [beams[0].node]
