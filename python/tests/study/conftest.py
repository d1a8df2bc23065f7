"""A shared machine may pause any test for longer than Hypothesis's deadline."""

from hypothesis import settings

settings.register_profile("study", deadline=None)
settings.load_profile("study")
