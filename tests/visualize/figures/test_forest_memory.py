"""The figure of memory under stress: its data by equality, its drawing by rendering."""

import visualize
from visualize.figures.forest_memory import ForestMemoryInfo, MemoryLine, forest_memory_info


def row(context, nodes, way, peak):
    return {"context": context, "nodes": nodes, "way": way, "peak_bytes": peak}


REPORT = {"rows": [row(512, 64, "one <b>", 9_000_000), row(128, 64, "one <b>", 4_000_000),
                   row(128, 16, "one <b>", 2_000_000), row(128, 16, "rival", 8_000_000),
                   row(512, 16, "rival", None)]}  # fmt: skip


def test_info_has_a_panel_for_each_context_and_leaves_out_what_was_not_measured():
    """Catches a point of 0 MB where the system does not count memory."""
    assert forest_memory_info(REPORT) == ForestMemoryInfo(
        {
            128: (MemoryLine("one <b>", (16, 64), (2.0, 4.0)), MemoryLine("rival", (16,), (8.0,))),
            512: (MemoryLine("one <b>", (64,), (9.0,)),),
        }
    )


def test_it_draws_in_both_themes():
    for theme in ("light", "dark"):
        figure = visualize.forest_memory_figure(REPORT, theme=theme)
        assert [trace.name for trace in figure.data if trace.showlegend] == ["one &lt;b&gt;", "rival"]
        assert figure.layout.yaxis.type == "log"
        assert [one.text for one in figure.layout.annotations] == ["128 tokens of context", "512 tokens of context"]
        empty = visualize.forest_memory_figure({"rows": [row(1, 1, "one", None)]}, theme=theme)
        assert (empty.layout.title.text, len(empty.data)) == (figure.layout.title.text, 0)
