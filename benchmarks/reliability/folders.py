"""Hostile folders of a model: each is tried and loaded as the page does it for a visitor who named it.

``python -m benchmarks.reliability.folders GOOD FOLDER...`` loads each folder in forks of one process, whose stdin says
yes to everything, and prints a line for each: how the loading ended.
"""

import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

SECONDS = 10
MEMORY_BYTES = 16 * 1024**3


def hostile_folders(count: int) -> dict[str, int]:
    """Load so many. Returns: how often each kind of answer came. Raises: AssertionError at the first fault."""
    from tests.models.hostile import RAN, hostile_folder
    from tests.toy_pair import toy_model, toy_tokenizer

    with TemporaryDirectory() as place:
        good = Path(place) / "good"
        toy_model(1, 1).float().save_pretrained(good)
        toy_tokenizer().save_pretrained(good)
        folders = {Path(place) / str(number): number for number in range(count)}
        kinds = {folder: hostile_folder(good, folder, number) for folder, number in folders.items()}
        command = [sys.executable, "-m", __name__, str(good), *map(str, folders)]
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        done = subprocess.run(command, input="yes\n" * 1000, stdout=pipe, stderr=quiet, text=True, check=True)
        seen = Counter[str]()
        for (folder, number), answer in zip(folders.items(), done.stdout.splitlines(), strict=True):
            fault = "code ran" if list(folder.rglob(RAN)) else answer
            assert fault.startswith(("loads", "refused")), f"hostile folder {number} ({kinds[folder]}): {fault}"
            seen[answer.split(":")[0]] += 1
    return dict(seen)


def main(good: str, folders: list[str]) -> None:
    """Load each folder in forks of this process."""
    from dsbd.errors import DsbdError
    from dsbd.models.loading import load_pair
    from dsbd.models.outline import try_out

    def loaded(folder: str, number: int) -> str:
        target, draft = (good, folder) if number % 3 == 2 else (folder, None)
        try:
            load_pair(target, draft, device="cpu", dtype="float32", engine="eager")
        except DsbdError as error:
            return f"refused: {error}"
        return "loads"

    def tried(folder: str) -> str:
        try:
            try_out(folder)
        except DsbdError as error:
            return f"refused: {error}"
        return "loads"

    try_out(good)  # so that no fork imports what it needs; it starts no threads
    for number, folder in enumerate(folders):
        answer = _forked(lambda folder=folder: tried(folder))
        if answer.startswith("ended"):
            answer = f"refused where it was tried: {answer}"
        elif answer == "loads":
            answer = _forked(lambda folder=folder, number=number: loaded(folder, number))
        print(answer, flush=True)


def _forked(function: Callable[[], str]) -> str:
    """Return what a function returns in a fork, or how the fork ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        signal.alarm(6 * SECONDS)  # other programs may have the processor
        for kind, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, SECONDS)):
            resource.setrlimit(kind, (most, most))
        try:
            answer = function()
        except BaseException as error:  # all: that is what is looked for
            answer = f"raises {type(error).__name__}: {error}"
        os.write(writer, " ".join(answer.split())[:400].encode("utf-8", "replace"))
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as stream:
        said = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or f"ended by {signal.Signals(-code).name if code < 0 else code}"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
