"""Fixtures for tests of every folder: one browser (two of Playwright's synchronous sessions cannot share a process),
the toy pair as folders, one thread.

Models this small are slower on two threads than on one, and much slower if two test processes share two cores. So
torch gets one thread, unless OMP_NUM_THREADS says otherwise.
"""

import gc
import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; programs that tests start inherit it
gc.disable()  # until all is imported: the many objects of the libraries are looked through again and again
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run"]  # fmt: skip


def pytest_make_parametrize_id(val, argname) -> str | None:
    """Name bytes by their argument: packed ones hold the time, and then two test processes find different tests."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items) -> None:
    """Give every test that opens a browser the marker ``browser``."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_collection_finish() -> None:
    """Collect garbage again, without looking at what is there to stay."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_certificates(tmp_path_factory):
    """Let no call of httpx read hundreds of certificates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(scope="session")
def browser():
    """Start headless chromium; tests that need it are skipped if it is missing."""
    if CHROMIUM is None:
        pytest.skip("runs wherever chromium is installed")
    from playwright.sync_api import expect, sync_playwright  # most tests need no browser

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def toy_folders(tmp_path_factory) -> dict[str, str]:
    """Return folders of a random target and draft model, by role."""
    from tests.toy_pair import toy_model, toy_tokenizer  # the tests that only draw need no torch

    found = {}
    for role, layers in (("target", 2), ("draft", 1)):
        folder = tmp_path_factory.mktemp("models") / role
        toy_model(1, layers).float().save_pretrained(folder)
        toy_tokenizer().save_pretrained(folder)
        found[role] = str(folder)
    return found


@pytest.fixture(scope="session")
def pair_flags(toy_folders) -> list[str]:
    """Return the flags that name the toy pair."""
    eager = ["--dtype", "float32", "--engine", "eager"]  # other engines are checked whenever a pair is loaded
    return [*eager, "--target", toy_folders["target"], "--draft", toy_folders["draft"]]
