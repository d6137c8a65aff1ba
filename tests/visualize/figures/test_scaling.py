"""The scaling figure: its data by equality, its drawing by rendering."""

import visualize
from visualize.figures.scaling import Growth, ScalingInfo, scaling_info


def row(axis, value, contender, milliseconds, limit):
    return {"axis": axis, "value": value, "contender": contender, "milliseconds_per_token": milliseconds,
            "limit_milliseconds_per_token": limit}  # fmt: skip


REPORT = {"rows": [row("num_beams", 8, "a <b>", 9.0, 8.0), row("num_beams", 2, "a <b>", 7.0, 6.0),
                   row("draft_depth", 2, "a <b>", 5.0, 4.0)]}  # fmt: skip


def test_info_is_sorted_along_each_axis():
    assert scaling_info(REPORT) == ScalingInfo(
        {
            "num_beams": (Growth("a <b>", (2, 8), (7.0, 9.0), (6.0, 8.0)),),
            "draft_depth": (Growth("a <b>", (2,), (5.0,), (4.0,)),),
        }
    )


def test_it_draws_the_limit_dashed_beside_the_measured():
    figure = visualize.scaling_figure(REPORT)
    assert [trace.line.dash for trace in figure.data] == [None, "dash"] * 2
    assert "<b>" not in figure.data[0].name
    assert visualize.scaling_figure({"rows": []}).layout.title.text == figure.layout.title.text
