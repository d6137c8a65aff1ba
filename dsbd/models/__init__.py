"""Any causal language model of Hugging Face.

transformers imports torchao if it is installed, and that import logs notices about kernels for other machines. They are
hidden here, before transformers is imported.
"""

import logging

for _name in ("torchao", "torch.utils._pytree"):
    logging.getLogger(_name).setLevel(logging.ERROR)
