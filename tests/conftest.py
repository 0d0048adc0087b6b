"""Settings of all tests: hypothesis without deadlines, because two cores are shared."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("house")
