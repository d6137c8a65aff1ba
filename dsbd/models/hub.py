"""Asks the hub once, with a short time limit, what it has under a name; a library would ask again and again."""

from pathlib import Path

from huggingface_hub import HfApi, ModelInfo, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

from dsbd.errors import PairError, first_line
from dsbd.models.files import CONFIG, is_small, require_kind, require_sizes

PATIENCE_SECONDS = 5


def on_hub(name: str) -> ModelInfo | None:
    """Return what the hub has under a name; None if it cannot say and the model's files are on this machine.

    Raises:
        PairError: the model does not exist, is gated, or is of another kind; or the hub is out of reach.
    """
    try:
        info = HfApi().model_info(name, files_metadata=True, timeout=PATIENCE_SECONDS)
        if info.gated:
            HfApi().auth_check(name)
    except Exception as error:  # all: network errors differ between versions of the library
        if local_folder(name) is not None:
            return None
        raise unreachable(name, error) from None
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    require_kind(name, sizes)
    require_sizes(name, sizes)
    return info


def unreachable(name: str, error: Exception) -> PairError:
    """Return an error that says why the hub does not give a model, and what to do."""
    if isinstance(error, GatedRepoError):
        return PairError(
            f"{name!r} is gated: accept its licence on the model's page of the hub, and set HF_TOKEN to a token of the "
            f"account that did"
        )
    if isinstance(error, RepositoryNotFoundError):
        return PairError(f"the hub has no model {name!r}, or it is private; check the spelling, or set HF_TOKEN")
    if isinstance(error, OfflineModeIsEnabled):
        return PairError(
            f"{name!r} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it; unset it, or give a folder"
        )
    return PairError(
        f"{name!r} is not on this machine, and the hub cannot be reached ({first_line(error)}); check the network, or "
        f"give a folder"
    )


def small_files(name: str, info: ModelInfo) -> Path:
    """Fetch all files but the weights; return their folder. Raises: PairError: fetching fails."""
    small = [file.rfilename for file in info.siblings or [] if is_small(file.rfilename)]
    try:
        files = [hf_hub_download(name, file, revision=info.sha) for file in small]
    except Exception as error:  # all: as above
        raise unreachable(name, error) from None
    return Path(files[0]).parent


def local_folder(name: str) -> Path | None:
    """Return the folder of a model that is on this machine, given as a folder or fetched before; else None."""
    if Path(name).is_dir():
        return Path(name)
    try:
        found = try_to_load_from_cache(name, CONFIG)
    except ValueError:
        return None
    return Path(found).parent if isinstance(found, str) else None
