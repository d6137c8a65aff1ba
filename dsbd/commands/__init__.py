"""The subcommands of ``python -m dsbd``, a file each: ``add`` says what it reads, ``run`` does it."""
