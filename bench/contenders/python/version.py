"""Says which versions of the packages that are its arguments are installed; fails where one is not."""

import platform
import sys
from importlib.metadata import version

print("Python", platform.python_version())
for package in sys.argv[1:]:
    print(package, version(package))
