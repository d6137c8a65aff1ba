"""The pairs that the page holds in memory. A key names a pair; it is plain text and part of each call.

The pair of the page stays. The others share the remaining places, and the least recently used pair goes first. A
bundled pair is read again when somebody chooses it: its files are always here.
"""

import gc
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from typing import NamedTuple

import torch

from dsbd.assets import BUNDLED_PAIRS
from dsbd.errors import PairError
from dsbd.models.loading import BUNDLED, WITH_MEMORY, loading
from dsbd.models.pair import Pair
from dsbd.steps import value_of

from .names import model_name

PAGE = "page"
"""The key of the pair that the page was started with."""
BETWEEN = " + "
"""Stands between target and draft in a key. No hub id and no folder in a key holds it."""

Load = Callable[[str, str | None], Generator[str, None, Pair]]
"""Loads a pair by the names of target and draft, and yields what it does, in words."""


class PairName(NamedTuple):
    """Target and draft model by folder or hub id; a bundled pair is ``bundled:NAME`` without a draft."""

    target: str
    draft: str | None = None

    @property
    def key(self) -> str:
        """The name as one text."""
        return self.target if self.draft is None else f"{self.target}{BETWEEN}{self.draft}"

    @classmethod
    def of(cls, key: str) -> "PairName":
        """The name that makes this key."""
        target, _, draft = key.partition(BETWEEN)
        return cls(target, draft or None)


BUNDLED_KEYS = tuple(f"{BUNDLED}:{name}" for name in BUNDLED_PAIRS)
_OF_BUNDLED = {
    BUNDLED_KEYS[0]: ("bundled/target", "Stories for children (bundled)"),
    BUNDLED_KEYS[1]: ("bundled:sql/target", "Questions to SQL (bundled)"),
    WITH_MEMORY: ("bundled:memory/target", "Stories, long prompts (memory)"),
}
"""The target's name in traces and the words for visitors, of each bundled pair."""


class PairShelf:
    """Loaded pairs by key, at most so many. Safe to use from any thread."""

    def __init__(self, page_pair: Pair, most: int = 2, load: Load = loading) -> None:
        self.page_pair = page_pair
        self._others: OrderedDict[str, Pair] = OrderedDict()
        self._most, self.load = most, load
        self._lock = threading.RLock()

    def available(self) -> list[str]:
        """All keys that can be used now: of the page's pair, the bundled pairs, the loaded pairs."""
        with self._lock:
            if self._most < 2:
                return [PAGE]
            return list(dict.fromkeys([PAGE, *(key for key in _OF_BUNDLED if not self._is_page(key)), *self._others]))

    def is_loaded(self, key: str) -> bool:
        with self._lock:
            return self._is_page(key) or key in self._others

    def get(self, key: str) -> Pair:
        """The pair of this key. Raises: PairError: it is neither loaded nor bundled."""
        if not self.is_loaded(key) and key not in self.available():
            raise PairError(
                f"the pair {key[:200]!r} is not in memory (any more); load it under Models, or choose another"
            )
        return self.open(key)

    def target_id(self, key: str) -> str:
        """The name of a pair's target model, as traces call it; the pair need not be in memory."""
        if self._is_page(key):
            return self.page_pair.target.id
        with self._lock:
            loaded = self._others.get(key)
        if loaded is not None:
            return loaded.target.id
        return _OF_BUNDLED[key][0] if key in _OF_BUNDLED else PairName.of(key).target

    def words(self, key: str) -> str:
        """A pair as a visitor reads it."""
        own = self.bundled(key)
        if own is not None:
            return _OF_BUNDLED[own][1]
        if key != PAGE:
            return _named(PairName.of(key))
        draft = self.page_pair.draft
        return _named(PairName(self.page_pair.target.id, None if draft is None else draft.id))

    def bundled(self, key: str) -> str | None:
        """The key of the bundled pair that this key names, if it does; the page's own pair may be bundled."""
        own = bundled_key(self.page_pair) if key == PAGE else key
        return own if own in _OF_BUNDLED else None

    def open(self, key: str) -> Pair:
        """The pair of this key; it is loaded if it is not in memory. Raises: PairError: it cannot be loaded."""
        with self._lock:
            if self._is_page(key):
                return self.page_pair
            if key in self._others:
                self._others.move_to_end(key)
                return self._others[key]
            self.make_room()
            return self.put(key, value_of(self.load(*PairName.of(key))))

    def put(self, key: str, pair: Pair) -> Pair:
        """Keep a loaded pair under this key."""
        with self._lock:
            if key not in self._others:
                self.make_room()
            self._others[key] = pair
            return pair

    def make_room(self) -> None:
        """Drop the least recently used pairs until one more fits. Raises: PairError: the host allows one pair only."""
        if self._most < 2:
            raise PairError("this page keeps one pair in memory (DSBD_MAX_LOADED_PAIRS is 1); its host can allow more")
        with self._lock:
            while len(self._others) + 1 >= self._most:
                self._others.popitem(last=False)
                _give_memory_back()

    def _is_page(self, key: str) -> bool:
        return key == PAGE or (key in _OF_BUNDLED and key == bundled_key(self.page_pair))


def bundled_key(pair: Pair) -> str | None:
    """The key of a bundled pair; None for another pair."""
    return next((key for key, (target, _) in _OF_BUNDLED.items() if target == pair.target.id), None)


def public_key(key: str) -> str:
    """A key as browsers see it: a key that names folders of this machine becomes a hash."""
    return key if _named(PairName.of(key)) == key else f"pair-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _named(name: PairName) -> str:
    return PairName(model_name(name.target), name.draft and model_name(name.draft)).key


def _give_memory_back() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
