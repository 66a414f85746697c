"""A throw-away machine: an overlay over a tree, booted with its own systemd in a container."""
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path


def cgroup2():
    for line in Path("/proc/self/mounts").read_text().splitlines():
        fields = line.split()
        if fields[2] == "cgroup2":
            return Path(fields[1])
    raise RuntimeError("no cgroup2 file system is mounted")


def wait_until(what, done, seconds=30):
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.05)


def descendants(process):
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from descendants(child)


class Machine:
    """`folders`: of this machine, and where they are seen inside, read-only. Used in a `with`."""

    def __init__(self, tree, folders):
        self.name = "lockstep-boot-" + secrets.token_hex(4)
        self.folder = Path("/var/tmp") / self.name
        self.root = self.folder / "root"
        for part in ("root", "upper", "work"):
            (self.folder / part).mkdir(parents=True)
        layers = f"lowerdir={tree},upperdir={self.folder}/upper,workdir={self.folder}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.root], check=True)
        (self.root / "etc/machine-id").write_text("")
        # The systemd of the machine must not be kept waiting by what containers lack.
        self.cgroup = cgroup2() / self.name
        self.cgroup.mkdir()
        # IPAddressDeny=, DevicePolicy= and SocketBindDeny= are BPF programs, which containers may not load by default.
        command = ["systemd-nspawn", "--quiet", "--directory", self.root, "--machine", self.name, "--register=no",
                   "--keep-unit", "--private-network", "--resolv-conf=off", "--timezone=off", "--link-journal=no",
                   "--console=pipe", "--capability=CAP_BPF,CAP_PERFMON,CAP_NET_ADMIN",
                   "--system-call-filter=bpf seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
                   *(f"--bind-ro={here}:{there}" for here, there in folders.items()),
                   "--boot"]
        enter = lambda: (self.cgroup / "cgroup.procs").write_text(str(os.getpid()))
        self.console = open(self.folder / "console", "wb")
        self.container = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console,
                                          env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}, preexec_fn=enter)
        try:
            wait_until("the container starts", self._find_leader)
            wait_until("the machine boots", lambda: self.run("systemctl is-system-running", check=False).stdout.strip()
                       in ("running", "degraded"), 60)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _find_leader(self):
        if self.container.poll() is not None:
            raise RuntimeError("the container ended: " + (self.folder / "console").read_text(errors="replace"))
        # Its first child comes and goes; the machine's init is number 1 of a namespace.
        for process in descendants(self.container.pid):
            try:
                status = Path(f"/proc/{process}/status").read_text()
            except OSError:
                continue
            if re.search(r"^NSpid:.*\t1$", status, re.M) and not status.startswith("Name:\tsystemd-nspawn"):
                self.leader = process
                self.scope = cgroup2() / re.search(r"^0::/(.*)$", Path(f"/proc/{process}/cgroup").read_text(), re.M).group(1)
                return True
        return False

    def command(self, text, user=None):
        words = ["nsenter", "--target", str(self.leader), "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                 "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        if user:
            words += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return [*words, "sh", "-c", text]

    def _inside(self):
        """For a new process: its control group is the machine's too, without which its logind knows nobody."""
        (self.scope / "cgroup.procs").write_text(str(os.getpid()))

    def run(self, text, user=None, check=True, seconds=120):
        """Runs a shell command inside; its output is in stdout, both streams together."""
        done = subprocess.run(self.command(text, user), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=seconds, errors="replace",
                              preexec_fn=self._inside)
        if check and done.returncode != 0:
            raise AssertionError(f"{text!r} ended with {done.returncode}: {done.stdout.strip()}")
        return done

    def start(self, text, user=None):
        return subprocess.Popen(self.command(text, user), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=self._inside)

    def write(self, path, text):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def close(self):
        if self.container.poll() is None:
            if getattr(self, "leader", None):
                subprocess.run(self.command("systemctl poweroff"), stdin=subprocess.DEVNULL, capture_output=True)
            try:
                self.container.wait(20)
            except subprocess.TimeoutExpired:
                if getattr(self, "leader", None):
                    os.kill(self.leader, signal.SIGKILL)
                self.container.kill()
                self.container.wait()
        self.console.close()
        subprocess.run(["umount", self.root], check=False)
        for group in sorted(self.cgroup.rglob("*/"), reverse=True):
            if group.is_dir():
                group.rmdir()
        self.cgroup.rmdir()
        shutil.rmtree(self.folder)
