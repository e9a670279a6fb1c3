"""`python -m sgep_jax`; see `command_line/`."""

import sys

import jax

from .command_line import main

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)  # this process is ours
    sys.exit(main())
