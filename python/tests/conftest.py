"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the law.
settings.register_profile("pacelc", deadline=None)
settings.load_profile("pacelc")
