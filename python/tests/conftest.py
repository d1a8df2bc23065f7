"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the law. Examples are the
# same each time, so that a change is to blame for a failure; PACELC_EXPLORE=1 looks for new ones.
settings.register_profile(
    "pacelc", deadline=None, derandomize=os.environ.get("PACELC_EXPLORE") != "1"
)
settings.load_profile("pacelc")
