"""Paths that a user types, checked before any work."""

import argparse
import stat
from pathlib import Path

LONGEST_SHOWN = 80


def input_path(text: str) -> str:
    """Check the path of a file or folder to read; that it exists is checked where it is read.

    Raises:
        ArgumentTypeError: it is empty, cannot be a path, or is a device, which may have no end.
    """
    mode = _mode_of(text)
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise argparse.ArgumentTypeError(f"{shortened(text)} is a device; name a file or folder")
    return text


def output_file(text: str) -> str:
    """Check the path of a file to write.

    Raises:
        ArgumentTypeError: it is empty, cannot be a path, is a folder, or its folder does not exist.
    """
    if stat.S_ISDIR(_mode_of(text)):
        raise argparse.ArgumentTypeError(f"{shortened(text)} is a folder; name a file")
    if not Path(text).resolve().parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {shortened(text)} does not exist; create it first")
    return text


def output_folder(text: str) -> str:
    """Check the path of a folder to write. Raises: ArgumentTypeError: it is empty, cannot be a path, or is a file."""
    mode = _mode_of(text)
    if mode and not stat.S_ISDIR(mode):
        raise argparse.ArgumentTypeError(f"cannot write into {shortened(text)}: it is not a folder; name a folder")
    return text


def path_or_id(text: str) -> str:
    """Check the folder or hub id of a model. Raises: ArgumentTypeError: it can be neither."""
    _mode_of(text)
    return text


def shortened(text: str) -> str:
    """Return what was typed in quotes, cut where it is long."""
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}...")


def _mode_of(text: str) -> int:
    """Return the kind of a file or folder; 0 where there is none."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not a path; name a file or folder")
    try:
        return Path(text).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except ValueError as error:  # a NUL character, or half of a surrogate pair
        raise argparse.ArgumentTypeError(f"{shortened(text)} is not a path ({error}); name a file or folder") from None
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot use {shortened(text)}: {error.strerror}; name another") from None
