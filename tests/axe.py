"""What axe-core finds in a page."""

import json

import pytest

from tests.watched import settle

COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def serious(page, context: str | None = None, *, colours_only: bool = False) -> list[str]:
    """Return the rules whose breach axe-core calls serious or critical, each with the first elements that break it.

    ``colours_only``: all that another theme of a page can break whose other rules were asked before.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="runs wherever axe-playwright-python is")
    settle(page)
    options = {"resultTypes": ["violations"], **(COLOURS if colours_only else {})}
    found = axe.Axe().run(page, context=context, options=options).response["violations"]
    bad = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']][:4])}" for one in bad]
