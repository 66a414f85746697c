"""The local protocol in a few lines: for tests that speak it without the client."""
import json
import socket


class Closed(Exception):
    """The daemon ended the connection."""


class Varlink:
    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, method, parameters=None, **more):
        self.socket.sendall(message(method, parameters, **more))

    def receive(self):
        while b"\0" not in self.held:
            try:
                data = self.socket.recv(65536)
            except ConnectionError as error:
                raise Closed from error
            if not data:
                raise Closed
            self.held += data
        text, self.held = self.held.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, parameters=None):
        """The one reply of a call without `more`."""
        self.send(method, parameters)
        return self.receive()


def message(method, parameters=None, **more):
    if "." not in method:
        method = "org.lockstep.Inference." + method
    return json.dumps({"method": method, "parameters": parameters or {}, **more}).encode() + b"\0"
