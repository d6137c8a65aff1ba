"""What is refused: an error names the value, and says what is allowed or what to do."""

from types import SimpleNamespace

import pytest

import visualize
from dsbd.errors import TraceError
from tests.contest.made_up import made_up_table
from tests.visualize.toy import toy_trace
from visualize.words.words import Words

TRACE, TABLE = toy_trace(), made_up_table()


@pytest.mark.parametrize(
    ("error", "said", "call", "arguments", "options"),
    [
        *((TraceError, f"iteration is {bad!r}; this trace has whole numbers from 0 to 6",
           visualize.forest_figure, (TRACE, bad), {}) for bad in (-1, 7, True, "0", 1.0, "both")),
        *((TraceError, "iteration is 99; this trace has whole numbers from 0 to 6", call, (TRACE,), {"iteration": 99})
          for call in (visualize.show, visualize.forest_svg, visualize.forest_text)),
        (TraceError, "step is 999; iteration 0 has whole", visualize.forest_svg, (TRACE,), {"step": 999}),
        *((ValueError, "theme is 'pink'", call, (TRACE,), {"theme": "pink"})
          for call in (visualize.decode_figure, visualize.forest_figure, visualize.forest_svg)),
        (ValueError, "no strings for language 'xx'; there are ar, de, en", Words, ("xx",), {}),
        *((ValueError, "no strings for language 'tlh'", call, (TRACE,), {"language": "tlh"})
          for call in (visualize.width_figure, visualize.forest_svg)),
        *((TraceError, "cannot read trace", call, ("no such file",), {})
          for call in (visualize.forest_figure, visualize.decode_figure)),
        (TraceError, "int is no trace; give a trace, the path of a trace file or a result",
         visualize.forest_text, (3,), {}),
        (TraceError, "decode with record=True", visualize.forest_graph, (SimpleNamespace(trace=None),), {}),
        (ValueError, "no table: task", visualize.speed_figure, ({"methods": []},), {}),
        (ValueError, "a str is no table of 'dsbd-contest/2'", visualize.pareto_figure, ("runs.jsonl",), {}),
        (ValueError, "is no race of", visualize.race_figure, ({"format": "other"},), {}),
        (ValueError, "height is 10; choose whole pixels from 200 to 4000", visualize.show, (TRACE,), {"height": 10}),
        (TraceError, "cannot write", visualize.export_html, (TRACE, "none/x.html"), {}),
        (TraceError, "is no folder", visualize.export_site, ("a.json", "out"), {}),
        *((ValueError, said, visualize.embed_snippet, ("a.html",), options) for said, options in (
            ("kind is 'word'; choose one of iframe, jupyter", {"kind": "word"}),
            ("height is 0", {"height": 0}),
            ("steps is 201; choose a whole number from 0 to 200", {"steps": 201}),
            ("iteration is -1", {"iteration": -1}),
            ("step is True", {"step": True}),
        )),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_it_is_refused(error, said, call, arguments, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(error) as refused:
        call(*arguments, **options)
    assert said in str(refused.value)
