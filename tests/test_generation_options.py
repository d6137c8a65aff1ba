"""Which options of ``generate`` of transformers are honoured; no model runs."""

import pytest
import torch
from transformers import GenerationConfig

from dsbd import generation_options as options
from dsbd.errors import SettingsError

MASK = torch.ones(1, 2)


@pytest.mark.parametrize("name", sorted(vars(GenerationConfig()).keys() - options.HONOURED - options.HARMLESS))
def test_a_field_is_refused_unless_it_asks_for_nothing(name):
    """Catches a field that is dropped in silence, and a value of nothing that is refused."""
    config, nothing = GenerationConfig(), options.NOTHING.get(name)
    for value in (None, nothing):
        setattr(config, name, value)
        options.refuse_unknown(config, {"attention_mask": MASK, "use_cache": True, "other": None, "images": {}})
    setattr(config, name, 3)
    with pytest.raises(SettingsError, match=f"{name} is 3; dsbd.generate cannot honour it"):
        options.refuse_unknown(config, {})


def test_an_unknown_input_is_refused():
    for given in (MASK, {"image": MASK}):
        with pytest.raises(SettingsError, match="inputs_embeds is given"):
            options.refuse_unknown(GenerationConfig(), {"inputs_embeds": given})
