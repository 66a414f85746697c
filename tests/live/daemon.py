"""A lockstepd of the test's own: private folder, private sockets, a TCP port only if it is wanted."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout=120):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def copy_of_starter(root, directory, template=None, max_positions=None):
    """The starter in a directory that is made: links to its files, but for another template or context."""
    starter = os.path.join(root, "packaging/starter")
    files = {name: os.path.join(starter, name) for name in os.listdir(starter)}
    if template:
        files["chat_template.jinja"] = template
    os.mkdir(directory)
    for name, file in files.items():
        os.symlink(os.path.abspath(file), os.path.join(directory, name))
    if max_positions:
        with open(files["config.json"], encoding="utf-8") as file:
            config = json.load(file)
        config["text_config"]["max_position_embeddings"] = max_positions
        os.unlink(os.path.join(directory, "config.json"))
        with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)


class Daemon:
    """Started and ready inside a `with`; stopped by SIGTERM at its end, which must succeed."""

    def __init__(self, root, build, tcp=False, settings="", model="packaging/starter", environment=None):
        self.root, self.build = os.path.abspath(root), os.path.abspath(build)
        self.model = os.path.join(self.root, model)
        self.added = environment or {}  # variables of lockstepd alone
        self.listen, self.url, self.settings = "none", None, settings
        if tcp:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.listen = "127.0.0.1:%d" % free.getsockname()[1]
            self.url = "http://" + self.listen
        self.lockstep = os.path.join(self.build, "ipc/lockstep")

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="lockstep-live-")
        self.sockets = os.path.join(self.folder, "sockets")
        self.environment = {**os.environ, "LOCKSTEP_SOCKET": os.path.join(self.sockets, "org.lockstep.Inference")}
        config = os.path.join(self.folder, "lockstepd.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'model = "{self.model}"\nlisten = "{self.listen}"\nsocket_dir = "{self.sockets}"\n'
                       f"{self.settings}\n")
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            program = os.path.join(self.build, "daemon/lockstepd")
            self.process = subprocess.Popen([program, "--config", config], stdout=log, stderr=log,
                                            env={**os.environ, **self.added})
        deadline = time.monotonic() + 120
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                with open(self.log, encoding="utf-8", errors="replace") as log:
                    text = log.read()
                shutil.rmtree(self.folder)
                raise SystemExit("lockstepd did not become ready. It said:\n" + text)
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "none within 30 s"
        left = os.listdir(self.sockets) if os.path.isdir(self.sockets) else []
        shutil.rmtree(self.folder)
        if status != 0:
            raise SystemExit(f"lockstepd stopped with status {status}")
        if left:
            raise SystemExit(f"lockstepd left {left} behind")

    def is_ready(self):
        try:
            connection = UnixConnection(os.path.join(self.sockets, "http.sock"))
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def post(self, path, body, timeout=120):
        """The status and text of the answer."""
        connection = UnixConnection(os.path.join(self.sockets, "http.sock"), timeout)
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()

    def run(self, arguments, text=""):
        """The lockstep program with these arguments."""
        return subprocess.run([self.lockstep, *arguments], input=text, env=self.environment, capture_output=True,
                              text=True, timeout=120, check=False)
