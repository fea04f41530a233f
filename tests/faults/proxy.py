"""The network between one agent and the aggregator: a TCP relay that is cut, delayed and silenced on request.

Bytes are never altered or reordered (TCP does not either); what is tried is everything that a network may do to a
connection: resets, a side that is gone without a word, silence, crawling, refusals. Requests from any thread.
"""
import asyncio
import socket
import struct
import threading
import time

CHUNK_BYTES = 16 << 10


class Loop:
    """One event loop in a thread of its own, for all relays."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Connection:
    """A pair of sockets: the agent's side and the aggregator's side; a side that is gone is None."""

    def __init__(self, near, far):
        self.near, self.far = near, far


def reset(writer):
    """Ends a side with RST, as a machine that lost its state does."""
    if writer is None or writer.transport.is_closing():
        return
    sock = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Link:
    """Relays 127.0.0.1:port to the target. Times are seconds; a condition lasts until its end or `heal`."""

    def __init__(self, loop, target):
        self.loop = loop
        self.target = target
        self.connections = set()
        self.silent_until = 0.0
        self.refuses_until = 0.0
        self.slow_until = 0.0
        self.slow_bytes_per_s = 0
        self.relayed_bytes = 0
        self.server = loop.call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    # --- what can be asked for ---

    def reset(self):
        self.loop.call(self._on_loop(lambda: [self._end(c) for c in list(self.connections)]))

    def half_open(self, gone, told_after_s):
        """One side ('agent' or 'aggregator') of every connection vanishes; the other hears of it later, or never."""
        self.loop.call(self._half_open(gone, told_after_s))

    def silence(self, seconds):
        """Black hole: connections stay, are even accepted, and nothing passes."""
        self.silent_until = time.monotonic() + seconds

    def slow(self, seconds, bytes_per_s):
        self.slow_bytes_per_s = bytes_per_s
        self.slow_until = time.monotonic() + seconds

    def refuse(self, seconds):
        self.refuses_until = time.monotonic() + seconds
        self.reset()

    def heal(self):
        """All is well again; connections whose other side is gone are told at last."""
        self.silent_until = self.refuses_until = self.slow_until = 0.0
        self.loop.call(self._on_loop(lambda: [self._end(c) for c in list(self.connections) if not (c.near and c.far)]))

    def close(self):
        self.reset()
        self.loop.call(self._on_loop(self.server.close))

    # --- on the loop ---

    async def _on_loop(self, work):
        work()

    def _end(self, connection):
        reset(connection.near)
        reset(connection.far)
        self.connections.discard(connection)

    async def _half_open(self, gone, told_after_s):
        hit = list(self.connections)
        for connection in hit:
            side = "near" if gone == "agent" else "far"
            lost = getattr(connection, side)
            setattr(connection, side, None)
            reset(lost)
        if told_after_s is not None:
            asyncio.get_running_loop().call_later(told_after_s, lambda: [self._end(c) for c in hit])

    async def _accept(self, reader, writer):
        if time.monotonic() < self.refuses_until:
            reset(writer)
            return
        host, port = self.target.rsplit(":", 1)
        try:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            reset(writer)
            return
        connection = Connection(writer, far_writer)
        self.connections.add(connection)
        await asyncio.gather(self._pump(connection, reader, "far"), self._pump(connection, far_reader, "near"))
        if connection.near and connection.far:
            self._end(connection)

    async def _pump(self, connection, reader, to):
        """Until the source ends. A target that is gone swallows what comes, as a dead machine does."""
        try:
            while data := await reader.read(CHUNK_BYTES):
                await self._hold_back(len(data))
                writer = getattr(connection, to)
                if writer is not None:
                    writer.write(data)
                    await writer.drain()
                    self.relayed_bytes += len(data)
        except OSError:
            pass
        if connection.near and connection.far:
            self._end(connection)

    async def _hold_back(self, size):
        if time.monotonic() < self.slow_until:
            await asyncio.sleep(size / self.slow_bytes_per_s)
        while time.monotonic() < self.silent_until:
            await asyncio.sleep(0.02)
