"""The pairs of the day: the bundled ones, a twin at the size of real models, and tiny random ones for a rehearsal."""

import argparse
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import AutoConfig, AutoTokenizer, LlamaForCausalLM

import dsbd
from benchmarks import gpu
from benchmarks.gpu_day.runner import Day
from dsbd.assets import asset_path

SCRATCH = Path(tempfile.gettempdir()) / "dsbd-gpu-day"
"""Where twins are kept: they are built once, and are no results."""
TARGET_SIZE, DRAFT_SIZE = "8B", "0.5B"
NEEDED_BYTES = 40e9
"""Free bytes that building and keeping the twins takes, on the disk."""


def bundled(day: Day, pair: str = "stories", dtype: str = "auto", engine: str = "auto") -> dsbd.Pair:
    """Load a bundled pair; in a rehearsal tiny random models with its tokenizer."""
    if not day.small:
        return dsbd.load_pair(f"bundled:{pair}", device=day.device, dtype=dtype, engine=engine)
    return dsbd.load_pair(*_tiny(pair), day.device, dtype, engine)


def twin(day: Day) -> dsbd.Pair:
    """Load the twin of the bundled pair at the size of real models; build it at the first call."""
    if day.small:
        return bundled(day)
    asked = argparse.Namespace(size=TARGET_SIZE, draft=DRAFT_SIZE, device=day.device, dtype="auto", engine="auto")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(SCRATCH).free < NEEDED_BYTES and not (SCRATCH / f"target-{TARGET_SIZE}").is_dir():
        raise OSError(f"twins take {NEEDED_BYTES / 1e9:.0f} GB in {SCRATCH}, and less is free")
    return gpu.load(asked, SCRATCH)


def _tiny(pair: str) -> list[Path]:
    """Write random models of one layer with a bundled pair's vocabulary, once; return their folders."""
    folders = []
    for seed, role in enumerate(("target", "draft")):
        source, folder = asset_path(f"models/{pair}/{role}"), SCRATCH / "tiny" / pair / role
        if not (folder / "tokenizer_config.json").is_file():
            config = AutoConfig.from_pretrained(source, trust_remote_code=False)
            config.num_hidden_layers, config.hidden_size, config.intermediate_size = 1, 32, 32
            config.num_attention_heads, config.num_key_value_heads, config.head_dim = 2, 1, 16
            torch.manual_seed(seed)
            LlamaForCausalLM(config).save_pretrained(folder)
            AutoTokenizer.from_pretrained(source, trust_remote_code=False).save_pretrained(folder)
        folders.append(folder)
    return folders
