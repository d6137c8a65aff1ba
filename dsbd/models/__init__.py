"""Any causal language model of Hugging Face.

transformers imports torchao wherever it is installed, and that import logs notices about kernels that this machine has
no use for. They are hidden here, before transformers is imported.
"""

import logging

for _name in ("torchao", "torch.utils._pytree"):
    logging.getLogger(_name).setLevel(logging.ERROR)
