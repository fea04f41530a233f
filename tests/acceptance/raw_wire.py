"""What no well-behaved client sends: HTTP/2 frames, gRPC messages and protobuf by hand, on a plain or an encrypted socket."""
import ctypes
import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def content_hash(body):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    value = library.XXH3_128bits(body, len(body))
    return struct.pack(">QQ", value.high, value.low)


# --- protobuf ---

def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def zigzag(value):
    return (value << 1) ^ (value >> 63)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def zstd_zeros(size):
    """A zstd frame that inflates to so many zeros: blocks of one repeated byte, 4 bytes for 128 KiB."""
    blocks, rest = divmod(size, 128 << 10)
    out = b"\x28\xb5\x2f\xfd\x00\x58"  # no size, no checksum, a window of 2 MiB
    for length, last in [(128 << 10, False)] * blocks + [(rest, True)]:
        out += struct.pack("<I", int(last) | 1 << 1 | length << 3)[:3] + b"\0"
    return out


def compressed_columns(data):
    """A lockstep.v1.CompressedColumns of these bytes (fewer than 128 KiB), not compressed at all."""
    zstd = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + struct.pack("<I", 1 | len(data) << 3)[:3] + data
    return b"\x08" + varint(len(data)) + b"\x12" + varint(len(zstd)) + zstd


def varint(value):
    """A protobuf varint."""
    out = b""
    while value > 0x7f:
        out, value = out + bytes([value & 0x7f | 0x80]), value >> 7
    return out + bytes([value])


# --- frames ---

def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def integer(value, bits):
    """An HPACK integer behind an empty prefix."""
    most = (1 << bits) - 1
    return bytes([value]) if value < most else bytes([most]) + varint(value - most)


def header(name, value):
    """A literal, never indexed."""
    name, value = (part if isinstance(part, bytes) else part.encode() for part in (name, value))
    return b"\x10" + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_headers(path, token=None, encoding=None, more=b""):
    block = header(":method", "POST") + header(":scheme", "http") + header(":path", path) + header(":authority", "localhost")
    block += header("content-type", "application/grpc") + header("te", "trailers")
    if token is not None:
        block += header("authorization", f"Bearer {token}")
    if encoding:
        block += header("grpc-encoding", encoding)
    return block + more


def message(body, compressed=False, length=None):
    return struct.pack(">BI", int(compressed), len(body) if length is None else length) + body


class Connection:
    """One connection; `answer` is all that the server sent until it fell silent or closed."""

    def __init__(self, address, context=None, greet=True, timeout=5):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self.answer = b""
        self.closed = False
        if greet:
            self.send(PREFACE + frame(SETTINGS, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Whether the server still took it."""
        try:
            self.socket.sendall(data)
            return True
        except (OSError, ssl.SSLError):
            self.closed = True
            return False

    def send_data(self, stream, data, last=True):
        for at in range(0, len(data), 16384):
            end = at + 16384 >= len(data)
            if not self.send(frame(DATA, END_STREAM if end and last else 0, stream, data[at:at + 16384])):
                return False
        return True

    def call(self, path, body=b"", **kwargs):
        self.send(frame(HEADERS, END_HEADERS, 1, request_headers(path, **kwargs)))
        self.send_data(1, body)
        return self.read(until=b"grpc-status")

    def read(self, until=None, quiet=3.0):
        self.socket.settimeout(quiet)
        try:
            while until is None or until not in self.answer:
                data = self.socket.recv(65536)
                if not data:
                    self.closed = True
                    break
                self.answer += data
        except (OSError, ssl.SSLError) as error:
            self.closed = self.closed or not isinstance(error, TimeoutError)
        return self.answer

    def status(self):
        """The grpc-status of the first call; None when there is none."""
        at = self.answer.find(b"grpc-status")
        if at < 0:
            return None
        length = self.answer[at + 11]
        return int(self.answer[at + 12:at + 12 + length]) if length < 3 else None
