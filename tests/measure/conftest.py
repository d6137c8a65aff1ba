"""The toy pair as folders, for the command line."""

import pytest

from tests.toy_pair import toy_model, toy_tokenizer


@pytest.fixture(scope="session")
def toy_folders(tmp_path_factory) -> dict[str, str]:
    """Folders of a random target and draft model, by role."""
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
