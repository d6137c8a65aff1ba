"""What axe-core finds in a page."""

import json

import pytest

from tests.watched import settle

COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def violations(page, context: str | None = None, *, colours_only: bool = False) -> list[dict]:
    """Return what axe-core objects to below the selector ``context``, once the page has settled.

    ``colours_only``: ask for the rules about colours alone, which is all that another theme of a page can break whose
    other rules were asked before.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="runs wherever axe-playwright-python is")
    settle(page)
    options = {"resultTypes": ["violations"], **(COLOURS if colours_only else {})}
    return axe.Axe().run(page, context=context, options=options).response["violations"]


def named(found: list[dict]) -> list[str]:
    """Return the rules that are broken, each with the first elements that break it."""
    return [f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']][:4])}" for one in found]


def serious(page, context: str | None = None, **asked) -> list[str]:
    """Return those that axe-core calls serious or critical, as :func:`named` does."""
    return named([one for one in violations(page, context, **asked) if one["impact"] in ("serious", "critical")])
