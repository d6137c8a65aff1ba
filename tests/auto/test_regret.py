"""``auto`` on made-up machines whose best forest is known: what its plans lose against that forest, and why.

A machine has a cost for each draft step, each node and each iteration that drafts, and a chance that a layer lets
verification go on. Its measurements are as noisy as real ones: few layers are seen, and some iterations are disturbed.
"""

import itertools
import random
from dataclasses import dataclass, replace
from statistics import fmean

import pytest

import dsbd
from dsbd.auto.plan import MeasuredForest, MeasuredRun, choose_forest, largest_tried, make_plan
from dsbd.depth import WORTHWHILE, DepthPolicy, expected_layers
from dsbd.settings import AUTO
from dsbd.steps import value_of

ALL = dsbd.DecodingSettings(draft_depth=AUTO, draft_width=AUTO, cover_width=AUTO, forest=AUTO, min_width=4, max_width=4)
MORE = {("sampled", 4): -0.1, ("sampled", 6): 0.0, ("sampled", 12): 0.25, ("sampled", 14): 0.3, ("sampled", 30): 0.4}
MORE |= {("likely", 12): 0.1, ("likely", 24): 0.3, ("likely", 48): 0.45}
"""How much of the layers that fall short with six drafts pass with a forest of so many nodes a layer."""


@dataclass(frozen=True)
class Machine:
    """Costs in iterations of beam sampling."""

    draft: float
    node: float
    passing: float
    """How often a layer of six drafts lets verification go on."""
    fixed: float = 0.1
    """Cost of drafting at all."""
    crowded: float = 0.0
    """Further cost of each node beyond the twelfth."""
    number: int = 0

    def rate(self, settings) -> float:
        more = MORE[settings.forest, settings.draft_width + settings.cover_width]
        return self.passing + more * ((1.0 - self.passing) if more > 0 else self.passing)

    def cost(self, settings, depth: int) -> float:
        nodes = depth * (settings.draft_width + settings.cover_width)
        drafting = self.fixed + depth * self.draft + nodes * self.node + max(0, nodes - 12) * self.crowded
        return 1.0 + (drafting if depth else 0.0)

    def best(self) -> float:
        """Return the most expected layers per cost of any forest that may be tried, or 1 without drafts."""
        found = [1.0]
        for largest in largest_tried(ALL):
            for depth in range(1, largest.draft_depth + 1):
                found.append(expected_layers(self.rate(largest), depth) / self.cost(largest, depth))
        return max(found)

    def decode(self, settings, tokens: int, chance: random.Random):
        """Yield depth, cost and draft layers passed and fallen short of each iteration."""
        policy = DepthPolicy(settings.draft_depth, settings.depth_costs, settings.continuation)
        rate = self.rate(settings) if settings.draft_depth else 0.0
        while tokens:
            depth = min(policy.choose(), tokens - 1)
            passed = next((layer for layer in range(depth) if chance.random() >= rate), depth)
            policy.observe(depth, passed, passed < depth)
            tokens -= passed + 1
            yield depth, self.cost(settings, depth), passed, passed < depth

    def try_out(self, settings) -> MeasuredRun:
        """Return a noisy measurement."""
        chance = random.Random(f"{self.number} {settings.seed} {settings.forest} {settings.draft_width} "
                               f"{settings.cover_width} {settings.draft_depth}")  # fmt: skip
        seen = list(self.decode(settings, settings.max_new_tokens, chance))
        seconds = [
            (depth, 0.01 * cost * (1.0 + 0.02 * chance.random() + (chance.random() < 0.15) * chance.random()))
            for depth, cost, _, _ in seen
        ]
        passed, stopped = sum(one[2] for one in seen), sum(one[3] for one in seen)
        return MeasuredRun(seconds, passed + len(seen), passed, stopped, 4 * (passed + len(seen)))

    def plan(self):
        return value_of(make_plan(ALL, self.try_out, room=1000))

    def speed(self, plan) -> float:
        """Return layers per cost of a long decode with a plan, beam sampling's being 1."""
        seen = list(self.decode(replace(ALL, **plan.values), 1500, random.Random(self.number)))
        return sum(passed + 1 for _, _, passed, _ in seen) / sum(cost for _, cost, _, _ in seen)


MACHINES = [
    Machine(draft, node, passing, crowded=crowded, number=number)
    for number, (draft, node, passing, crowded) in enumerate(
        itertools.product((0.05, 0.15, 0.4), (0.002, 0.02), (0.2, 0.5, 0.65, 0.8, 0.95), (0.0, 0.02))
    )
]


def test_plans_lose_little_against_the_best_forest():
    """Catches a plan far from the best forest, and one that decodes slower than beam sampling."""
    speeds = [machine.speed(machine.plan()) for machine in MACHINES]
    shares = [speed / machine.best() for speed, machine in zip(speeds, MACHINES, strict=True)]
    assert min(speeds) > 0.98
    assert min(shares) > 0.75
    assert fmean(shares) > 0.94


def test_a_gain_within_the_noise_of_its_measurement_is_not_taken():
    """Catches a forest that was lucky in a few layers."""
    baseline = MeasuredForest("sampled", 1, 0, ((0, 0.010),), 0.5, 0, 4.0)
    for decided, expected in ((8, 0), (800, 2)):
        lucky = MeasuredForest("sampled", 6, 0, ((2, 0.017),), 0.6, decided, 4.0)
        assert expected_layers(0.6, 2) / 1.7 > WORTHWHILE
        assert choose_forest(replace(ALL, draft_depth=2), [baseline, lucky]).values["draft_depth"] == expected


@pytest.mark.parametrize("room", [1, 2, 5])
def test_a_prompt_that_leaves_little_room_is_planned(room):
    """Catches a division by a depth that no measurement reached."""
    plan = value_of(make_plan(ALL, MACHINES[0].try_out, room))
    assert plan.values["draft_depth"] < room
