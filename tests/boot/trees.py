"""Trees of Debian releases and packages of this project for them, kept in build/boot."""
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEEP = ROOT / "build" / "boot"
BASE = ("systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "udev", "iproute2", "procps", "curl", "jq", "socat")
# Beyond what packaging/build-packages lists.
BUILDING = ("build-essential", "debhelper", "ccache", "clang-19", "lld-19", "llvm-19", "lintian", "blhc", "rpm", "file")
RELEASES = {"12": "bookworm", "13": "trixie"}


def apt_sources(codename):
    """This machine's own apt sources for Debian, as files for another release."""
    here = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M).group(1)
    folder = KEEP / f"apt-{codename}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for file in listed:
        if file.suffix not in (".list", ".sources") or not file.is_file():
            continue
        text = file.read_text()
        if re.search(rf"/debian.*?\b{here}\b", text, re.S):
            (folder / file.name).write_text(re.sub(rf"\b{here}\b", codename, text))
    return sorted(folder.iterdir())


def tree(release, kind, packages):
    """A folder with a minimal Debian and these packages; made once for each list of packages."""
    key = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:12]
    folder = KEEP / f"debian{release}-{kind}-{key}"
    if not folder.exists():
        making = folder.with_suffix(".new")
        shutil.rmtree(making, ignore_errors=True)
        for old in KEEP.glob(f"debian{release}-{kind}-*"):
            shutil.rmtree(old)
        command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=" + ",".join(packages),
                   RELEASES[release], str(making), *map(str, apt_sources(RELEASES[release]))]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        making.rename(folder)
    return folder


def in_tree(folder, *command, mounts=(), environment=None):
    """Runs a command inside a tree, with folders of this machine mounted: (here, there)."""
    script = "set -e; mount -t proc proc {0}/proc; mount --rbind /dev {0}/dev; ".format(folder)
    for here, there in mounts:
        (folder / there.lstrip("/")).mkdir(parents=True, exist_ok=True)
        script += f"mount --bind '{here}' '{folder}{there}'; "
    words = " ".join(f"'{word}'" for word in command)
    variables = " ".join(f"{name}='{value}'" for name, value in (environment or {}).items())
    script += f"exec env -i PATH=/usr/sbin:/usr/bin HOME=/root {variables} chroot '{folder}' {words}"
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script], check=True, stdin=subprocess.DEVNULL)


def sources_key():
    """Of everything that packages are made from."""
    digest = hashlib.sha256()
    for top in ("CMakeLists.txt", "LICENSE", "README.md", "daemon", "engine", "ipc", "kernels", "man", "packaging"):
        path = ROOT / top
        for file in sorted([path] if path.is_file() else path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def packages(release):
    """Debian packages of this source for a release, built in a tree of it without code for GPUs: a folder with .deb
    files, kept until the sources change."""
    output = KEEP / f"packages{release}-{sources_key()}"
    if output.exists():
        return output
    for old in KEEP.glob(f"packages{release}-*"):
        shutil.rmtree(old)
    making = KEEP / f"making{release}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    in_builder(release, making, "packaging/build-deb", "--without-gpu", "--in", "/tmp/deb", "/lockstep/build")
    making.rename(output)
    return output


def in_builder(release, output, command, *words):
    """Runs a command of this project in a tree that has what building and checking packages takes. `output` is its
    folder build; the rest of the project is this one's."""
    # What building needs depends on the release; a tree that has only a shell tells.
    plain = tree(release, "plain", ["base-files"])
    listed = subprocess.run(["chroot", plain, "sh", "-s"], stdin=open(ROOT / "packaging" / "build-packages"), check=True,
                            capture_output=True, text=True).stdout.split()
    builder = tree(release, "build", [*listed, *BUILDING])
    mounts = [(ROOT, "/lockstep"), (output, "/lockstep/build")]
    environment = {}
    cache = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True).stdout.strip()
    if cache:
        Path(cache).mkdir(parents=True, exist_ok=True)
        mounts.append((cache, "/ccache"))
        environment["CCACHE_DIR"] = "/ccache"
    in_tree(builder, "/lockstep/" + command, *words, mounts=mounts, environment=environment)


def newer(debs, version):
    """The same packages under a higher version."""
    output = debs.with_name(debs.name.replace("packages", "newer"))
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    for deb in debs.rglob("lockstep*.deb"):
        if "dbgsym" in deb.name:
            continue
        folder = output / deb.stem
        subprocess.run(["dpkg-deb", "-R", deb, folder], check=True)
        control = folder / "DEBIAN" / "control"
        text = control.read_text()
        old = re.search(r"^Version: (.*)$", text, re.M).group(1)
        control.write_text(text.replace(old, version))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", folder, output], check=True, capture_output=True)
        shutil.rmtree(folder)
    return output


def run_time_packages(debs):
    """Packages of Debian that ours depend on."""
    names = set()
    for deb in debs.glob("*.deb"):
        depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, capture_output=True, text=True).stdout
        names |= {re.match(r"[a-z0-9.+-]+", part.strip()).group(0) for part in depends.split(",") if part.strip()}
    return sorted(name for name in names if not name.startswith("lockstep"))


def runner(release, debs):
    return tree(release, "run", [*BASE, *run_time_packages(debs)])
