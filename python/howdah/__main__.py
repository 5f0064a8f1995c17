"""The ``howdah`` command, also as ``python -m howdah``."""

import signal
import sys

from howdah._native import cli_main


def main() -> int:
    """Run the command with this process's arguments and return its exit code."""
    # The command answers SIGINT with an exit code; Python's own handler would add a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return cli_main(["howdah", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
