"""A small Ray of our own: two workers, all on this machine."""

import os

import pytest
import ray.data
from conftest import environment

import howdah

# It tells nobody, and its workers have to get on where other tests run.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}


def start(server: howdah.Server) -> None:
    """Start it; what its processes need to know of the server is in their environment."""
    os.environ.update(SETTINGS)
    with pytest.MonkeyPatch.context() as surroundings:
        for name, value in environment(server).items():
            surroundings.setenv(name, value)
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=200_000_000,
            log_to_driver=False,
            logging_level="error",
        )
    ray.data.DataContext.get_current().enable_progress_bars = False


def stop() -> None:
    """End it."""
    ray.shutdown()
