"""A proxy before a server that loses the answer to a COMMIT, and may then be away for a while."""

import contextlib
import selectors
import socket
import threading
import time
from typing import Any, Self

COMMIT = b"COMMIT\0"
"""How a driver's commit looks on the wire, in a message of its own."""


class LossyProxy:
    """Passes everything on, until it is told to lose the next answer to a COMMIT."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._armed = threading.Lock()
        self._armed.acquire()
        self._away_for = 0.0
        self._away_until = 0.0
        self._spared = 0
        self.lost = 0
        """How many answers were lost."""
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_next(self, away_for: float, after: int = 0) -> None:
        """Lose the answer to the next COMMIT; the server cannot be reached for so many seconds then.

        Or to the one ``after`` so many others, where these come one after the other.
        """
        self._away_for = away_for
        self._spared = after
        with contextlib.suppress(RuntimeError):
            self._armed.release()

    def spare_next(self) -> None:
        """Lose no answer that was not lost yet."""
        self._armed.acquire(blocking=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if time.monotonic() < self._away_until:
                    client.close()
                else:
                    threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection(self._server) as server,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            while all(self._passed_on(key.fileobj, key.data, client) for key, _ in ready.select()):
                pass

    def _passed_on(self, source: Any, other: socket.socket, client: socket.socket) -> bool:  # noqa: ANN401
        """Pass on what there is, unless the conversation is over."""
        data = source.recv(1 << 16)
        other.sendall(data)
        if source is client and data.endswith(COMMIT) and self._armed.acquire(blocking=False):
            if self._spared:
                self._spared -= 1
                self._armed.release()
                return True
            # It has committed when it answers.
            other.recv(1 << 16)
            self._away_until = time.monotonic() + self._away_for
            self.lost += 1
            return False
        return bool(data)
