"""What the browser says is what Python says: sentences, numbers, the table of nodes."""

import itertools
import random

import pytest

from tests.visualize.nasty import nasty_trace
from tests.visualize.traces import OPEN, TRACES, scene_of
from visualize import nodes_csv, scene_json
from visualize.words.plurals import plural_category
from visualize.words.words import known_languages, number, tell_apart


@pytest.mark.parametrize(
    ("name", "language"),
    [(name, "en") for name in TRACES]
    + [
        (name, language)
        for name in ("toy", "likely", "ruled", "chance")
        for language in known_languages()
        if language != "en"
    ],
)
def test_both_say_the_same_sentences(modules, name, language):
    """Catches a sentence that only one of the two authors has changed."""
    assert_same_sentences(modules, name, language)


def test_the_browser_says_what_node_says(modules_in_browser):
    """Catches source files that only node can run: the pages run in browsers."""
    assert_same_sentences(modules_in_browser, "toy", "ar")


def assert_same_sentences(modules, name, language):
    scene = scene_of(name, language)
    said = modules.run(
        OPEN + """
        const words = new Words(given.language);
        return given.iterations.map((packed) => {
            const iteration = new Iteration(packed);
            return {steps: iteration.steps.map((_, at) => words.step(iteration, at, given.settings)),
                layers: iteration.layers.map((layer) => [words.layerTitle(layer), words.outcome(layer),
                    words.width(layer, given.settings)]),
                facts: iteration.facts.map((facts, at) => facts.map((fact) => [words.title(iteration, fact),
                    words.verdict(iteration, fact),
                    words.detail(iteration, fact, iteration.nodes[at])]))};
        });""",
        scene_json(scene),
    )  # fmt: skip
    for iteration, shown in zip(scene.iterations, said, strict=True):
        assert shown["steps"] == [step.sentence for step in iteration.steps]
        for layer, (title, outcome, reason) in zip(iteration.layers, shown["layers"], strict=True):
            assert (title, outcome, reason) == (layer.title, layer.outcome_sentence, layer.reason)
        told = [[[fact.title, fact.sentence, fact.detail] for fact in node.facts] for node in iteration.nodes]
        assert shown["facts"] == told


def test_both_write_numbers_alike(modules):
    """A digit that differs makes two sentences of one."""
    chance = random.Random(7)
    values = [0.0, 1.0, 0.125, 0.375, 0.0625, -0.5, 10.0, 12.5, 5e-4, 4.99e-4, 1e-9, 0.1, 0.0995, 0.3000001]
    values += [999999999.5, 1e9, 1.25e9, -3.5e9, 2.5e60, 1.7e308]
    values += [chance.random() ** chance.randint(1, 12) * chance.choice([1, -1, 50]) for _ in range(2000)]
    pairs = list(itertools.pairwise(values))
    code = """const {number, tellApart} = await load("base/words.js");
        return [given[0].map((value) => number(value)), given[1].map((pair) => tellApart(...pair))];"""
    numbers, apart = modules.run(code, [values, pairs])
    assert numbers == [number(value) for value in values]
    assert apart == [tell_apart(*pair) for pair in pairs]


def test_both_choose_the_same_plural(modules):
    """Catches a plural rule of Python that is not the browser's."""
    code = """return given.map((language) => {
        const rules = new Intl.PluralRules(language);
        return Array.from({length: 300}, (_, count) => rules.select(count));
    });"""
    languages = known_languages()
    found = modules.run(code, languages)
    assert found == [[plural_category(language, count) for count in range(300)] for language in languages]


@pytest.mark.parametrize("name", TRACES)
def test_both_write_the_same_table(modules, name):
    scene = scene_of(name)
    code = """const {Iteration} = await load("forest/iteration.js");
              const {csvText} = await load("page/exports.js");"""
    written = modules.run(
        f'{code} return given.iterations.map((packed) => csvText(new Iteration(packed), "prompt"));', scene_json(scene)
    )
    assert written == [nodes_csv(scene, at) for at in range(len(scene.iterations))]


def test_a_cell_is_never_a_formula():
    rows = nodes_csv(nasty_trace(), 1)
    assert "\r\n" in rows
    for line in rows.split("\r\n")[1:-1]:
        assert not line.split(",")[3].startswith(("=", "+", "@"))
