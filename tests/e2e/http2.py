"""Just enough HTTP/2 to send a gRPC server what no client library would (RFC 9113, RFC 7541)."""
import re
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
INITIAL_WINDOW = 4  # a setting
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + \
        struct.pack(">I", stream) + payload


def header(name, value):
    """A literal field that nobody remembers, with its name spelled out."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


class Call:
    """One gRPC call with a body of any bytes."""

    def __init__(self, client, method):
        self.client, self.stream = client, client.makefile("rb")
        self.windows = {0: 65_535, 1: 65_535}  # what may be sent: in all, and on the call's stream
        self.status = None
        fields = [(":method", "POST"), (":scheme", "http"), (":path", method),
                  (":authority", "here"), ("content-type", "application/grpc"), ("te", "trailers")]
        client.sendall(PREFACE + frame(SETTINGS, 0, 0) +
                       frame(HEADERS, END_HEADERS, 1, b"".join(header(*pair) for pair in fields)))

    def send(self, body):
        """Sends `body` as the server's windows allow, and ends the stream."""
        while self.status is None:
            piece = body[:min(16_384, *self.windows.values())]
            body = body[len(piece):]
            if piece or not body:
                self.client.sendall(frame(DATA, 0 if body else END_STREAM, 1, piece))
            for stream in self.windows:
                self.windows[stream] -= len(piece)
            if not body:
                return
            if min(self.windows.values()) == 0:
                self.take()

    def take(self):
        """Reads one frame."""
        head = self.stream.read(9)
        if len(head) < 9:
            raise AssertionError("the server closed the connection without a status")
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream, payload = int.from_bytes(head[5:], "big"), self.stream.read(size)
        # gRPC's server spells its status out: the name, then the length of the value.
        status = re.search(rb"grpc-status[\x01\x02](\d+)", payload) if kind == HEADERS else None
        if status:
            self.status = int(status[1])
        elif kind in (SETTINGS, PING) and not flags & ACK:
            self.client.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
            for name, value in struct.iter_unpack(">HI", payload if kind == SETTINGS else b""):
                self.windows[1] += value - 65_535 if name == INITIAL_WINDOW else 0
        elif kind == WINDOW_UPDATE:
            self.windows[stream] += int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            raise AssertionError(f"the server hung up: {payload!r}")


def grpc_status(port, method, message):
    """Calls `method` with the bytes `message`. RETURNS: the status that the server gives it."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        call = Call(client, method)
        call.send(b"\0" + struct.pack(">I", len(message)) + message)
        while call.status is None:
            call.take()
        return call.status
