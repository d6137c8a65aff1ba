"""Several processes share an evaluation, on one machine or on many: they are started by ``accelerate launch``."""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

from dsbd.errors import SettingsError

Item = TypeVar("Item")
PATIENCE = timedelta(days=7)
"""How long a process that is ready waits for the others at the end."""


class Processes:
    """The processes that share the work, as accelerate's ``PartialState`` knows them; one where none were launched.

    Args:
        device: that the user asked for, or ``auto``.

    Raises:
        SettingsError: processes were launched that cannot see each other.
    """

    def __init__(self, device: str = "auto") -> None:
        self._state: Any = None
        launched = int(os.environ.get("WORLD_SIZE", "1"))
        if launched > 1:
            import torch
            from accelerate import PartialState

            on_cpu = device == "cpu" or not torch.cuda.is_available()
            self._state = PartialState(cpu=on_cpu, timeout=PATIENCE)
            if self._state.num_processes != launched:
                raise SettingsError(
                    f"{launched} processes were launched, and {self._state.num_processes} can see each other; start "
                    "them with accelerate launch --multi_gpu --num_processes N, on processors too"
                )
        self.count: int = self._state.num_processes if self._state else 1
        self.number: int = self._state.process_index if self._state else 0
        self.on_this_machine = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if self._state else 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes the results."""
        return self.number == 0

    @property
    def device(self) -> str | None:
        """The device of this process; None where it may choose."""
        return str(self._state.device) if self._state else None

    def share(self, items: Sequence[Item]) -> list[Item]:
        """Return the part of the items that this process does."""
        if self._state is None:
            return list(items)
        with self._state.split_between_processes(list(items)) as part:
            return list(part)

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """Return the items of all processes, in the order of their numbers; all of them must call it."""
        if self._state is None:
            return list(items)
        from accelerate.utils import gather_object

        found: list[Item] = gather_object(list(items))
        return found

    def close(self) -> None:
        """Leave the group of processes."""
        if self._state is not None:
            self._state.destroy_process_group()
