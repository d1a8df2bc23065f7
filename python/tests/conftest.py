"""What all tests share."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the law. Examples are the
# same each time, so that a change is to blame for a failure; PACELC_EXPLORE=1 looks for new ones.
settings.register_profile(
    "pacelc", deadline=None, derandomize=os.environ.get("PACELC_EXPLORE") != "1"
)
settings.load_profile("pacelc")

# A shell that starts the tests in the background has them ignore Ctrl-C; tests of it would wait.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
