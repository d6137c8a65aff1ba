"""Checks pages with axe-core."""

import json

import pytest

from tests.watched import settle

COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def serious(page, context: str | None = None, *, colours_only: bool = False) -> list[str]:
    """Return the rules whose violations axe-core calls serious or critical, each with the first elements.

    ``colours_only``: only what a second theme of a checked page can break.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="runs wherever axe-playwright-python is")
    settle(page)
    options = {"resultTypes": ["violations"], **(COLOURS if colours_only else {})}
    violations = axe.Axe().run(page, context=context, options=options).response["violations"]
    return [f"{rule['id']}: {json.dumps([node['target'] for node in rule['nodes']][:4])}"
            for rule in violations if rule["impact"] in ("serious", "critical")]  # fmt: skip
