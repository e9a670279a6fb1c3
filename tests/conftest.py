"""Strict arithmetic in all tests: no silent promotion of dtypes or ranks."""

import gc
import os
import subprocess
import sys
from pathlib import Path

# Compiling is nearly all of the suite's time, and its programs run for milliseconds. XLA aborts on
# a flag that it does not know. (Without optimization these emitters make programs that crawl.)
# There are as many workers as cores: pools of threads would only get in each other's way.
FLAGS = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1 "
    "--xla_cpu_multi_thread_eigen=false"
)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if FLAGS not in os.environ.get("XLA_FLAGS", ""):  # workers inherit it
    probe = [sys.executable, "-c", "import jax; jax.devices()"]
    environment = {**os.environ, "XLA_FLAGS": FLAGS}
    known = subprocess.run(probe, env=environment, capture_output=True, timeout=120).returncode == 0
    flags = FLAGS if known else "--xla_backend_optimization_level=0"
    os.environ["XLA_FLAGS"] = f"{flags} {os.environ.get('XLA_FLAGS', '')}"

# Workers, examples and later runs share what one of them has compiled.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

import jax
import pytest

gc.set_threshold(100_000, 50, 100)  # tracing makes many objects that live: a twelfth of the time

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(scope="module", autouse=True)
def fewer_programs():
    """A process may map 65,530 regions of memory; XLA crashes beyond, after some 400 programs."""
    yield
    jax.clear_caches()


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param
