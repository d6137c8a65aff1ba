"""One browser for all tests that need one: two of Playwright's synchronous sessions cannot share a process."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    """Headless chromium; its tests run wherever chromium and playwright are installed."""
    if CHROMIUM is None:
        pytest.skip("runs wherever chromium is installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="runs wherever playwright is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
