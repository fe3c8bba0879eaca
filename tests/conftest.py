"""The Hypothesis profile of all tests: the same examples every time, nothing kept between runs. And Ctrl-C works."""

import atexit
import os
import shutil
import signal
import sys
import tempfile

from hypothesis import settings

settings.register_profile("fuzzmcp", derandomize=True, deadline=None, database=None)
settings.load_profile("fuzzmcp")

# Where no bytecode may be written, each process that a test starts would compile all it imports anew, for seconds.
# They share a folder that goes away with this run.
if sys.dont_write_bytecode and sys.pycache_prefix is None:
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="bytecode-")
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    atexit.register(shutil.rmtree, sys.pycache_prefix, ignore_errors=True)

# A shell that starts a command in the background lets it ignore SIGINT, and tests of Ctrl-C would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
