"""Choose ports for servers that a test starts in processes of their own.

Such a server learns its port before it listens, and other tests connect and listen meanwhile.
The kernel gives a connection, or a socket that asks for port 0, one of its ephemeral ports, so
a port for later comes from below them: only another test that looks here could take it, and the
draw is by chance over thousands.
"""

import random
import socket

_PORTS = range(10_000, 32_000)
"""Below the ephemeral ports of Linux (32768 on) and of others (49152 on)."""


def free_port() -> int:
    """A port that nobody listens on, and that the kernel gives nobody unasked."""
    chance = random.SystemRandom()
    while True:
        port = chance.choice(_PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
