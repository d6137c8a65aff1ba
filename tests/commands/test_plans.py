"""``python -m dsbd plans``."""

import json

from tests.auto.test_kept import ALL, HERE, made, plans_folder, save_plan
from tests.command_line import refused, run


def test_plans_are_listed_and_forgotten(capsys):
    """Catches a plan that nobody can see, one that cannot be got rid of, and a file that ends the list."""
    assert run(capsys, "plans")[:2] == (0, f"0 plans in {plans_folder()}\n")
    strange = HERE | {"machine": {}, "models": {"target": {"id": "\x1b[2J"}}}
    for here in (HERE, strange):
        save_plan(here, ALL, made())
    (plans_folder() / "0.json").write_text("damaged")
    code, out, _ = run(capsys, "plans")
    assert code == 0
    for part in ("2 plans in", "t (float32) + d", "2 threads of made up", "draft_depth=auto", "8 cover nodes"):
        assert part in out
    assert "\x1b" not in out
    listed = json.loads(run(capsys, "plans", "--json")[1])
    assert listed["folder"] == str(plans_folder())
    assert {one["values"]["cover_width"] for one in listed["plans"]} == {8}
    assert (
        run(capsys, "plans", "--forget", "--json")[1]
        == json.dumps({"folder": str(plans_folder()), "forgotten": 3}) + "\n"
    )
    assert run(capsys, "plans", "--forget")[1] == f"0 plans forgotten in {plans_folder()}\n"


def test_a_folder_that_cannot_be_read_is_one_line(capsys, monkeypatch, cache):
    cache.mkdir()
    (cache / "plans").mkdir()
    (cache / "plans" / "x.json").mkdir()
    assert "name another one in DSBD_CACHE" in refused(capsys, "plans", "--forget")
