"""Ray writes through howdah: ``ds.write_datasink(howdah.ray.Datasink("readings", "service=shop"))``.

docs/ray.md is the guide.
"""

from howdah.ray._sink import Datasink

__all__ = ["Datasink"]
