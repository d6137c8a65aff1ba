"""The lab of a lesson: its decodes follow the law, its broken decoders are caught, and it needs no server."""

import json
from collections import Counter

import pytest
from scipy import stats

import visualize
from dsbd.assets import asset_path
from dsbd.errors import LessonError
from tests.law.oracle import Process, Warp, Weighted
from tests.visualize.homes import visit
from visualize.pages.compressed import packed
from visualize.pages.lab_parts import ENTRY, LAB, lab_script, read_tables
from visualize.viewer.bundle import imports_of
from visualize.words.words import Words

TABLES = asset_path("lessons") / "three-words.json"
PAIR = json.loads(TABLES.read_text(encoding="utf-8"))
LOAD = """
    const {Experiment} = await load("../pages/lab/experiment.js");
    const {exactLaw, firstLayer} = await load("../pages/lab/exact.js");
    const {decode} = await load("../pages/lab/decode.js");
    const {endOf} = await load("../pages/lab/beams.js");
    const {seeded} = await load("../pages/lab/random.js");
    const {withCell, withRow, nameOf} = await load("../pages/lab/tables.js");
    const {binsOf, chiSquare, pValue, limitOf} = await load("../pages/lab/chi_square.js");
"""
REPORT = """
    const experiment = new Experiment(given.pair, given.settings);
    while (experiment.done < given.settings.runs) experiment.once();
    const {freedom, limit, square, p, seen, formula, counts} = experiment;
    return {freedom, limit, square, p, seen, formula, counts: [...counts]};"""
ZEROS = {"words": ["red", "blue"], "prompt": "red", "layers": 2,
         "target": {"": [0.0, 1.0], "0": [0.5, 0.5], "1": [0.25, 0.75]},
         "draft": {"": [0.5, 0.5], "0": [1.0, 0.0], "1": [1.0, 0.0]}}  # fmt: skip


def experiment(modules, *, pair=PAIR, runs=20_000, seed=7, width=2, depth=2, guesses=3, decoder="dsbd"):
    settings = {"runs": runs, "seed": seed, "width": width, "depth": depth, "guesses": guesses, "decoder": decoder}
    return modules.run(LOAD + REPORT, {"pair": pair, "settings": settings})


class AsTables:
    """A model of the pair as the oracle reads it."""

    eos: frozenset[int] = frozenset()

    def __init__(self, pair: dict) -> None:
        def law(role: str):
            return lambda path: pair[role]["".join(map(str, path))]

        self.next_token = {"target": law("target"), "draft": law("draft")}


def oracle_law(pair: dict, width: int) -> dict[str, float]:
    """The law of the ends as the tests of the decoder add it up."""
    process = Process(AsTables(pair), [Weighted((), 0.0, 1)], Warp())
    found: Counter[str] = Counter()
    for (_, alive), prob in process.after((((), 1),), pair["layers"], width).items():
        slots = sorted("".join(map(str, path)) for path, count in alive for _ in range(count))
        found["+".join(slots)] += prob
    return dict(found)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("pair", [PAIR, ZEROS], ids=["lesson", "zeros"])
def test_the_exact_law_is_that_of_the_oracle(modules, pair, width):
    """Catches a lab that compares with a law of its own."""
    code = LOAD + "return [...exactLaw(given.pair.target, given.pair.layers, given.width)];"
    found = dict(modules.run(code, {"pair": pair, "width": width}))
    expected = {end: prob for end, prob in oracle_law(pair, width).items() if prob > 0}
    assert found.keys() == expected.keys()
    assert max(abs(found[end] - prob) for end, prob in expected.items()) <= 1e-12


@pytest.fixture(scope="module")
def lesson_run(modules):
    """20,000 decodes with the settings that the lesson opens with."""
    return experiment(modules)


def test_many_decodes_follow_the_law(lesson_run):
    """Catches an error of drafting, verification, residual, landing or bonus: each changes the law of the ends."""
    assert sum(count for _, count in lesson_run["counts"]) == 20_000
    assert lesson_run["p"] > 1e-4


@pytest.mark.parametrize(("width", "depth", "guesses"), [(2, 1, 4), (2, 2, 1), (1, 2, 1), (1, 1, 3), (2, 2, 2)])
@pytest.mark.slow
def test_other_settings_follow_the_law_too(modules, width, depth, guesses):
    """Catches a setting that is not lossless, plain speculative sampling among them."""
    assert experiment(modules, width=width, depth=depth, guesses=guesses)["p"] > 1e-4


def test_tables_with_zeros_are_decoded(modules):
    """Catches a division by zero, and an end that the large model forbids."""
    report = experiment(modules, pair=ZEROS, runs=4_000, width=2, depth=1, guesses=2)
    assert report["p"] > 1e-4
    assert {end for end, _ in report["counts"]} <= oracle_law(ZEROS, 2).keys()


@pytest.mark.parametrize("decoder", ["accept_all", "draft_alone"])
@pytest.mark.parametrize("width", [1, 2])
def test_a_broken_decoder_is_caught(modules, decoder, width):
    """Catches a switch that breaks nothing, and a test that cannot fail."""
    report = experiment(modules, runs=5_000, width=width, guesses=3 if width == 2 else 1, decoder=decoder)
    assert report["p"] < 1e-6
    assert report["square"] > 10 * report["limit"]


def test_the_formulas_say_what_is_seen(lesson_run):
    """Catches a formula beside a number that it is not about."""
    report = lesson_run
    expected = sum(min(target, draft) for target, draft in zip(PAIR["target"][""], PAIR["draft"][""], strict=True))
    assert report["formula"]["first"] == pytest.approx(expected, abs=1e-12)
    for name, chance in report["formula"].items():
        assert stats.binomtest(report["seen"][name], 20_000, chance).pvalue > 1e-4


AUDITED = """
    const {recheck} = await load("law/audit.js");
    const {chainOf} = await load("law/residual.js");
    const {alphasOf, tailsOf} = await load("law/chances.js");
    const common = {replacement: true, temperature: 1, landing: true, lossless: true, method: "dsbd"};
    const failures = [];
    let [checks, kinds] = [0, new Set()];
    for (const settings of given.settings) {
      const {width} = settings;
      const random = seeded(settings.seed);
      for (let run = 0; run < given.runs; run++) {
        for (const layers of decode(given.pair, settings, random).passes) {
          const first = layers[0].alive[0].length;
          const at = new Map(layers[0].alive.map((path, place) => [path, place]));
          const nodes = layers[0].alive.map(() => ({kind: "input", column: 0, parent: -1, ends: false}));
          const place = (path, kind, more) => {
            if (!at.has(path)) {
              at.set(path, nodes.length);
              const parent = at.has(path.slice(0, -1)) ? at.get(path.slice(0, -1)) : -2;
              nodes.push({kind, column: path.length - first, parent, ends: false, ...more});
            }
            return at.get(path);
          };
          const [trials, draws, told] = [[], [], []];
          layers.forEach((layer, number) => {
            const bonus = layer.outcome === "bonus";
            layer.trials.forEach((trial, order) => {
              const pair = layer.law.paths.indexOf(trial.path);
              const node = place(trial.path, "drafted", {draft_prob: trial.draft_prob,
                target_prob: pair < 0 ? null : layer.law.probs[pair]});
              trials.push({...trial, node, order, layer: number + 1, joint: null});
            });
            for (const draw of layer.draws) {
              draws.push({...draw, node: place(draw.path, "drawn", {}), layer: number + 1});
              kinds.add(draw.kind);
            }
            const chain_S = bonus ? [] : chainOf(layer.law.probs, layer.draft, layer.trials.length);
            const at_least = bonus ? [] : tailsOf(alphasOf(chain_S));
            const alive = layer.alive.map((path) => at.get(path));
            told.push({layer: number + 1, kind: bonus ? "bonus" : "draft", alive,
              support: layer.law.paths.length, width, at_least, chain_S, accepted: layer.accepted,
              outcome: layer.outcome, forest_mass: null});
            kinds.add(layer.outcome);
            layer.trials.forEach((trial) => kinds.add(trial.verdict));
          });
          const pass = {nodes, trials, draws, layers: told, beginnings: []};
          pass.layer = (number) => told[number - 1];
          const report = recheck(pass, {...common, width_threshold: 0.7, min_width: width, max_width: width});
          checks += report.checks;
          if (report.failure) failures.push(report.failure);
        }
      }
    }
    return {checks, failures, kinds: [...kinds].sort()};"""


def audited(modules, **changes):
    asked = [{"width": 2, "depth": 2, "guesses": 3, "seed": 1}, {"width": 1, "depth": 2, "guesses": 1, "seed": 2}]
    return modules.run(
        LOAD + AUDITED, {"pair": PAIR, "runs": 300, "settings": [settings | changes for settings in asked]}
    )


def test_every_decision_follows_by_the_viewers_audit(modules):
    """Catches a second law: the badge of the viewer decides every trial and draw of the lab again."""
    report = audited(modules)
    assert report["failures"] == []
    assert report["checks"] > 3_000
    verdicts = {"accepted", "rejected", "orphaned", "unneeded"}
    assert set(report["kinds"]) == verdicts | {"recovered", "fresh", "bonus", "passed", "landed", "short"}


def test_the_audit_notices_a_decoder_that_accepts_everything(modules):
    """Catches an audit of the lab that could not fail."""
    assert audited(modules, accept_all=True)["failures"]


@pytest.mark.parametrize("freedom", [1, 2, 5, 21, 60])
def test_p_values_are_those_of_scipy(modules, freedom):
    """Catches a p-value of another law, on both branches of the computation."""
    squares = [0.1, 1.0, freedom / 2, freedom, freedom + 3, 2 * freedom + 5, 200.0, 4_000.0]
    code = LOAD + "return given.squares.map((square) => pValue(square, given.freedom)).concat(limitOf(given.freedom));"
    *found, limit = modules.run(code, {"squares": squares, "freedom": freedom})
    assert found == pytest.approx(stats.chi2.sf(squares, freedom).tolist(), rel=1e-9, abs=1e-14)
    assert limit == pytest.approx(stats.chi2.isf(0.01, freedom), rel=1e-9)


def test_chi_square_is_that_of_scipy(modules):
    """Catches a rest of rare ends that is left out, and a forbidden end that passes."""
    law = [["a", 0.6], ["b", 0.393], ["c", 0.004], ["d", 0.003]]
    code = (
        LOAD
        + """
        const bins = binsOf(new Map(given.law), 1000);
        return [bins.map(({ends}) => ends.join("")), ...given.counts.map((counts) => {
          const square = chiSquare(bins, new Map(counts), 1000);
          return square === Infinity ? "infinite" : square;
        })];"""
    )
    counts = [[["a", 580], ["b", 405], ["c", 9], ["d", 6]], [["a", 999], ["z", 1]]]
    bins, square, forbidden = modules.run(code, {"law": law, "counts": counts})
    assert bins == ["a", "b", "cd"]
    grouped = [sum(dict(counts[0])[end] for end in ends) for ends in bins]
    expected = [sum(dict(law)[end] for end in ends) * 1000 for ends in bins]
    assert square == pytest.approx(stats.chisquare(grouped, expected).statistic)
    assert forbidden == "infinite"


def test_a_changed_cell_keeps_a_law(modules):
    """Catches a row that no longer sums to 1, and a zero that makes numbers of nothing."""
    code = LOAD + "return given.map(([row, at, value]) => withCell(row, at, value));"
    rows = [[[0.2, 0.3, 0.5], 0, 0.6], [[0, 1, 0], 1, 0.5], [[0.2, 0.8], 0, 0], [[0.2, 0.8], 1, 7], [[1, 0], 0, -1]]
    found = modules.run(code, rows)
    expected = [[0.6, 0.15, 0.25], [0.25, 0.5, 0.25], [0, 1], [0, 1], [0, 1]]
    for row, wanted in zip(found, expected, strict=True):
        assert row == pytest.approx(wanted)


def test_changed_rows_and_names(modules):
    """Catches a change of one text that changes others, and a name that hides that a text counts twice."""
    code = (
        LOAD
        + """
        const everywhere = withRow(given, "draft", [0, 0, 1]);
        const once = withRow(given, "draft", [0, 0, 1], "1");
        return [Object.values(everywhere.draft).every((row) => row[2] === 1), once.draft["1"], once.draft["0"],
          everywhere.target[""], nameOf(given, "101+101"), nameOf(given, "011+101")];"""
    )
    everywhere, changed, other, target, twice, two = modules.run(code, PAIR)
    assert everywhere
    assert (changed, other, target) == ([0, 0, 1], PAIR["draft"]["0"], PAIR["target"][""])
    assert (twice, two) == ("blue red blue ×2", "red blue blue + blue red blue")


def test_the_random_numbers_are_mulberry32(modules):
    """Catches another generator, or one that differs between seeds by a shift only."""

    def mulberry32(seed: int):
        state, mask = seed, 0xFFFFFFFF
        while True:
            state = (state + 0x6D2B79F5) & mask
            mixed = ((state ^ (state >> 15)) * (state | 1)) & mask
            mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61) & mask)) & mask
            yield (mixed ^ (mixed >> 14)) / 2**32

    code = LOAD + "const random = seeded(given); return [random(), random(), random(), random()];"
    for seed in (0, 1, 4_294_967_295):
        numbers = mulberry32(seed)
        assert modules.run(code, seed) == [next(numbers) for _ in range(4)]
    assert modules.run(code, 0)[0] == 1144304738 / 2**32  # the generator's published first number for seed 0


def test_the_tables_are_those_of_the_lessons_trace_and_chart():
    """Catches a lab about another pair than the lesson's."""
    report = json.loads((asset_path("lessons") / "lossless.json").read_text(encoding="utf-8"))
    for model, law in report["next_word"].items():
        assert PAIR[model][""] == pytest.approx(law, abs=1e-9)
    law = oracle_law(PAIR, 2)
    assert len(law) == report["outcomes"]
    likeliest = sorted(law.values(), reverse=True)[: len(report["likeliest"])]
    assert [prob * report["runs"] for prob in likeliest] == pytest.approx(
        [row["expected"] for row in report["likeliest"]], rel=1e-9
    )
    first = visualize.scene(asset_path("lessons") / "traces" / "5-three-words.json.gz").iterations[0].nodes
    drafted = [node for node in first if node.column == 2 and node.kind == "drafted"]
    assert sorted(PAIR["target"]["1"])[-len(drafted) :] == pytest.approx(sorted(node.target_prob for node in drafted))


def test_the_lab_is_small_and_says_what_it_needs():
    """Catches a page that grows, a word that is missing, and one that nobody reads."""
    code = lab_script()
    assert len(packed(code)) < 10_500  # as the page carries it, with what it shares with the viewer
    assert all(not name.startswith("viewer/") or name.startswith("viewer/law/") for name in _files(ENTRY))
    read = {key.removeprefix(LAB) for key in Words("en").table if key.startswith(LAB)}
    for key in read:
        assert f"words.{key}" in code or f'"{key}"' in code, key


def test_the_joined_code_parses(modules):
    """Catches two files of the lab that use one name at their top level: joined, they share one scope."""
    assert modules.run("return typeof new Function(given);", lab_script()) == "function"


def _files(entry: str) -> set[str]:
    return {entry}.union(*(_files(name) for name, _ in imports_of(entry)))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"words": ["red"]}, "write words"),
        ({"layers": 9}, "write words"),
        ({"prompt": None}, "write words"),
        ({"draft": {"": [0.5, 0.5, 0.0]}}, "draft after '0' is no law"),
        ({"target": {"": [0.5, 0.6, 0.0]}}, "target after '' is no law"),
        ({"target": []}, "target after '' is no law"),
    ],
)
def test_tables_that_are_none_are_named(tmp_path, change, named):
    """Catches a traceback where a teacher has mistyped a number."""
    (tmp_path / "t.json").write_text(json.dumps(PAIR | change), encoding="utf-8")
    with pytest.raises(LessonError, match=named):
        read_tables(tmp_path / "t.json")


@pytest.mark.parametrize("text", ["", "[1]", "{}", "nothing"])
def test_files_that_are_no_tables_are_named(tmp_path, text):
    """Catches a traceback where the file is something else."""
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    with pytest.raises(LessonError, match=r"tables 't\.json': write words"):
        read_tables(tmp_path / "t.json")
    with pytest.raises(LessonError, match=r"tables 'none\.json': No such file"):
        read_tables(tmp_path / "none.json")


@pytest.mark.slow
def test_the_button_decodes_in_the_browser(browser, tmp_path):
    """Catches a lab that does not start from a file, hides its verdict, or prints itself and not the recorded chart."""
    visualize.export_lesson(asset_path("lessons") / "5-lossless.md", tmp_path / "lesson.html")
    with visit(browser, tmp_path / "lesson.html", viewport={"width": 390, "height": 844}) as seen:
        page = seen.page
        page.wait_for_selector("html.live .lab-run", state="attached")
        page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
        while not page.is_visible(".lab-run"):
            page.click("button.next")
        assert not page.is_visible(".forest")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        said = "() => document.querySelector('.lab-said').textContent"
        for decoder, words in (("dsbd", "fit the exact law"), ("accept_all", "do not come from")):
            page.select_option(".lab-settings select >> nth=0", decoder)
            page.focus(".lab-run")
            page.keyboard.press("Enter")
            page.wait_for_selector(".lab-said:not(:empty)")
            assert "5,000 decodes: chi-square" in page.evaluate(said)
            assert words in page.evaluate(said)
        assert page.locator(".lab-line").count() == 2
        page.click(".lab-tables summary")
        page.fill(".lab-tables input >> nth=0", "0")
        page.keyboard.press("Tab")
        assert page.evaluate(said) == ""
        assert page.input_value(".lab-tables input >> nth=1") == "0.947"
        page.emulate_media(media="print")
        assert not page.is_visible(".lab")
        assert page.is_visible(".lab-instead img")
        seen.quiet()
