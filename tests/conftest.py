"""For tests of every folder: one browser (two of Playwright's synchronous sessions cannot share a process), the toy
pair as folders, one thread."""

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


@pytest.fixture(scope="session")
def toy_folders(tmp_path_factory) -> dict[str, str]:
    """Folders of a random target and draft model, by role."""
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
    """The flags that name the toy pair."""
    return ["--dtype", "float32", "--target", toy_folders["target"], "--draft", toy_folders["draft"]]


@pytest.fixture(scope="module")
def one_thread():
    """Models this small run several times faster on one thread, and lose much more where cores are shared."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
