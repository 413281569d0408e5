"""What all tests share."""

from hypothesis import settings

# A machine that pauses for a moment fails no test.
settings.register_profile("labeltree", deadline=None)
settings.load_profile("labeltree")
