"""Run by test_benchmarks.py: many scripts in one process, which share what they compile.

python many_scripts.py TASKS RESULTS: JSON, {name: [script, *arguments]} and {name: [error, text]}
"""

import contextlib
import io
import json
import runpy
import sys
import traceback
from pathlib import Path

import jax


def run(script, *arguments):
    """(the error, or nothing; what was printed), as if `script` had been started by itself."""
    sys.argv, text = [script, *arguments], io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return str(end.code or ""), text.getvalue()
    except Exception:
        return traceback.format_exc(), text.getvalue()
    return "", text.getvalue()


def forget(folder):
    """What the scripts share is imported anew by the next one, which may set 64 bits again."""
    jax.config.update("jax_enable_x64", False)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(folder) and name != "__main__":
            del sys.modules[name]


def main(tasks, results):
    done = {}
    for name, command in json.loads(Path(tasks).read_text()).items():
        sys.path[0] = folder = str(Path(command[0]).parent)
        done[name] = run(*command)
        forget(folder)
        Path(results).write_text(json.dumps(done))


main(*sys.argv[1:])
