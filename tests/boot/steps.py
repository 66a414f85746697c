"""What the installed service is put through, in this order, on one machine."""
import json
import re
import time

from machine import wait_until
from trees import ROOT

QUESTION = "Who are you?"
CHAT = "/v1/chat/completions"
EXPOSURE = {"12": 0.4, "13": 0.2}


def expect(text, said):
    if text not in said:
        raise AssertionError(f"expected {text!r} in: {said.strip()}")


def equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r} instead of {wanted!r}")


def property_of(machine, name):
    return machine.run(f"systemctl show -P {name} lockstepd").stdout.strip()


def main_pid(machine):
    return property_of(machine, "MainPID")


def log_since(machine, cursor):
    return machine.run(f"journalctl -u lockstepd --no-pager --after-cursor='{cursor}'").stdout


def cursor(machine):
    return re.search(r"cursor: (\S+)", machine.run("journalctl --sync; journalctl -n 0 --show-cursor").stdout).group(1)


def curl(body, where="http://127.0.0.1:8420", more=""):
    text = json.dumps(body).replace("'", "'\\''")
    return f"curl -sS -N --max-time 60 {more} -H 'Content-Type: application/json' -d '{text}' {where}{CHAT}"


def chat(machine, messages, **parameters):
    body = {"messages": messages, "temperature": 0, "max_tokens": 60, **parameters}
    reply = json.loads(machine.run(curl(body)).stdout)
    if "error" in reply:
        raise AssertionError(f"refused: {reply}")
    return reply


def conversation(machine):
    """A second turn: its text, its hash, and how much of its prompt was known."""
    said = "I want to copy a file to another machine."
    first = chat(machine, [{"role": "user", "content": said}])["choices"][0]["message"]["content"]
    reply = chat(machine, [{"role": "user", "content": said}, {"role": "assistant", "content": first},
                           {"role": "user", "content": "Which package has that?"}])
    return (first, reply["choices"][0]["message"]["content"], reply["lockstep"]["token_sha256"],
            reply["usage"]["prompt_tokens_details"]["cached_tokens"])


def drop_in(machine, text):
    machine.write("/etc/systemd/system/lockstepd.service.d/test.conf", text)
    machine.run("systemctl daemon-reload")


def no_drop_in(machine):
    machine.run("rm -rf /etc/systemd/system/lockstepd.service.d; systemctl daemon-reload")


def settings(machine, text):
    machine.write("/etc/lockstep/lockstepd.toml.d/test.toml", text)


def restart(machine):
    machine.run("systemctl reset-failed lockstepd; systemctl restart lockstepd")


def installs(machine):
    """apt installs the packages and the service is ready when it has done"""
    machine.run("apt-get install -q -y --no-install-recommends /debs/lockstep*.deb", seconds=300)
    equal(property_of(machine, "ActiveState"), "active", "the service")
    expect("Starter", machine.run(f"lockstep ask --temperature 0 '{QUESTION}'").stdout)


def ready_means_ready(machine):
    """a restart returns when the model answers, ten times"""
    for _ in range(10):
        restart(machine)
        expect('"status":"ok"', machine.run("curl -sS --max-time 1 http://127.0.0.1:8420/health").stdout)


def members_only(machine):
    """a member of the group is answered, another user is refused with the remedy"""
    machine.run("useradd -m -G lockstep ann; useradd -m bob")
    expect("Starter", machine.run(f"lockstep ask --temperature 0 '{QUESTION}'", user="ann").stdout)
    refused = machine.run(f"lockstep ask '{QUESTION}'", user="bob", check=False)
    equal(refused.returncode, 3, "bob's exit status")
    expect("usermod -aG lockstep", refused.stdout)
    unix = machine.run("curl -sS --unix-socket /run/lockstep/http.sock http://localhost/health", user="bob", check=False)
    if unix.returncode == 0:
        raise AssertionError(f"bob was answered on http.sock: {unix.stdout}")


def http(machine):
    """HTTP answers on loopback and on the Unix socket with the same bytes"""
    body = {"messages": [{"role": "user", "content": QUESTION}], "temperature": 0}
    answers = {json.loads(machine.run(command).stdout)["lockstep"]["token_sha256"]
               for command in (curl(body), curl(body, "http://localhost", "--unix-socket /run/lockstep/http.sock"))}
    equal(len(answers), 1, "number of different answers")
    expect("starter", machine.run("curl -sS http://127.0.0.1:8420/v1/models").stdout)


def autopkgtest(machine):
    """the packages' own test passes"""
    machine.write("/root/ask", (ROOT / "packaging/debian/tests/ask").read_text())
    machine.run("mkdir /root/scratch; AUTOPKGTEST_TMP=/root/scratch sh /root/ask; rm -r /root/ask /root/scratch")


def confined(machine):
    """the unit's exposure is what it ought to be, and the daemon confines itself inside it"""
    release = re.search(r'VERSION_ID="(\d+)"', machine.run("cat /etc/os-release").stdout).group(1)
    report = machine.run("systemd-analyze security --no-pager lockstepd.service").stdout
    exposure = float(re.search(r"exposure level for lockstepd.service: ([0-9.]+)", report).group(1))
    if exposure > EXPOSURE[release]:
        raise AssertionError(f"exposure {exposure}: {report}")
    said = machine.run("journalctl -u lockstepd --no-pager | grep 'sandbox: confined' | tail -1").stdout
    expect("files", said)
    expect("system calls", said)
    status = machine.run(f"cat /proc/{main_pid(machine)}/status").stdout
    expect("NoNewPrivs:\t1", status)
    expect("Seccomp:\t2", status)
    expect("CapEff:\t0000000000000000", status)
    return f"exposure {exposure}"


def activation(machine):
    """a connection to a stopped service starts it, and is served"""
    machine.run("systemctl stop lockstepd")
    equal(property_of(machine, "ActiveState"), "inactive", "the service")
    expect('"status":"ok"', machine.run("curl -sS --max-time 30 http://127.0.0.1:8420/health").stdout)
    machine.run("systemctl stop lockstepd")
    expect("Starter", machine.run(f"lockstep ask --temperature 0 '{QUESTION}'", user="ann").stdout)


def long_stream(machine, tokens=1500):
    body = {"messages": [{"role": "user", "content": "Tell me a story."}], "seed": 5, "stream": True,
            "max_tokens": tokens, "ignore_eos": True}
    stream = machine.start(curl(body))
    wait_until("the stream begins", lambda: '"active":0' not in active(machine))
    return stream


def active(machine):
    text = machine.run("curl -sS http://127.0.0.1:8420/metrics | grep -E '^lockstep_requests_(active|running)'",
                       check=False).stdout
    return '"active":0' if not re.search(r" [1-9]", text) else text


def killed(machine):
    """after kill -9 in mid-reply systemd starts a new daemon, and a conversation goes on to the same bytes"""
    before = conversation(machine)
    time.sleep(1)
    stream = long_stream(machine)
    old = main_pid(machine)
    machine.run(f"kill -9 {old}")
    if "[DONE]" in stream.communicate(timeout=60)[0]:
        raise AssertionError("the reply was over before it was killed")
    wait_until("a new daemon", lambda: main_pid(machine) not in ("0", old) and
               property_of(machine, "ActiveState") == "active", 60)
    after = conversation(machine)
    equal(after[:3], before[:3], "the conversation")
    if after[3] < 16:
        raise AssertionError(f"only {after[3]} tokens of the prompt were known")
    return f"{after[3]} tokens known"


def watchdog(machine):
    """a daemon that stands still is found by the watchdog and replaced"""
    drop_in(machine, "[Service]\nWatchdogSec=2s\n")
    restart(machine)
    begin, old = cursor(machine), main_pid(machine)
    machine.run(f"kill -STOP {old}")
    wait_until("a new daemon", lambda: main_pid(machine) not in ("0", old) and
               property_of(machine, "ActiveState") == "active", 60)
    expect("atchdog timeout", log_since(machine, begin))
    no_drop_in(machine)
    restart(machine)
    expect("Starter", machine.run(f"lockstep ask --temperature 0 '{QUESTION}'").stdout)


def frozen(machine):
    """a service that stands still for longer than its engine may goes on with the reply, in the same process"""
    question = [{"role": "user", "content": "word " * 1000}]
    drop_in(machine, "[Service]\nWatchdogSec=12s\n")  # the engine's limit is three quarters of it
    restart(machine)
    old = main_pid(machine)
    reply = machine.start(curl({"messages": question, "temperature": 0, "max_tokens": 30, "ignore_eos": True}))
    wait_until("the request", lambda: "in_work 1" in machine.run(
        "curl -sS --unix-socket /run/lockstep/http.sock http://localhost/metrics").stdout, 10)
    machine.run("systemctl freeze lockstepd; sleep 10; systemctl thaw lockstepd")
    answer = json.loads(reply.communicate(timeout=60)[0])
    equal(main_pid(machine), old, "the daemon")
    again = chat(machine, question, max_tokens=30, ignore_eos=True)
    equal(answer["lockstep"]["token_sha256"], again["lockstep"]["token_sha256"], "the reply")
    no_drop_in(machine)
    restart(machine)


def stop_in_time(machine, what, most):
    begun = time.monotonic()
    machine.run("systemctl stop lockstepd")
    seconds = time.monotonic() - begun
    if seconds > most:
        raise AssertionError(f"{what}: the stop took {seconds:.1f} s")
    equal(property_of(machine, "Result"), "success", f"{what}: result")
    equal(property_of(machine, "ExecMainStatus"), "0", f"{what}: exit status")
    return seconds


def stops(machine):
    """SIGTERM: idle, reading a prompt, with three streams, and twice"""
    restart(machine)
    seconds = [stop_in_time(machine, "idle", 5)]
    restart(machine)
    prompt = machine.start(curl({"messages": [{"role": "user", "content": "word " * 1500}], "max_tokens": 5}))
    time.sleep(0.1)
    seconds.append(stop_in_time(machine, "reading a prompt", 40))
    expect('"choices"', prompt.communicate(timeout=60)[0])
    settings(machine, "drain_seconds = 1\n")
    restart(machine)
    streams = [long_stream(machine, 2000) for _ in range(3)]
    seconds.append(stop_in_time(machine, "streams", 15))
    for stream in streams:
        expect("[DONE]", stream.communicate(timeout=60)[0])
    settings(machine, "drain_seconds = 3600\n")
    restart(machine)
    machine.run("systemctl stop lockstepd-tcp.socket")
    held = machine.start("(printf 'POST /v1/chat/completions HTTP/1.1\\r\\nContent-Length: 100\\r\\n\\r\\n{'; sleep 30) |"
                         "socat - UNIX-CONNECT:/run/lockstep/http.sock")
    time.sleep(0.3)
    begun = time.monotonic()
    machine.run("systemctl kill lockstepd; sleep 0.5; systemctl kill lockstepd", check=False)
    wait_until("the end", lambda: property_of(machine, "MainPID") == "0", 5)
    seconds.append(time.monotonic() - begun)
    equal(property_of(machine, "ExecMainStatus"), "0", "twice: exit status")
    held.kill()
    machine.run("rm /etc/lockstep/lockstepd.toml.d/test.toml; systemctl start lockstepd-tcp.socket")
    restart(machine)
    return "seconds: " + ", ".join(f"{one:.1f}" for one in seconds)


def keys(machine):
    """API keys from the credential store and from a file; reload reads them again"""
    key = "printf %s {0} | sha256sum | cut -c1-64"
    machine.run(f"mkdir -p /etc/credstore; echo first $({key.format('one')}) > /etc/credstore/api-keys;"
                "chmod 600 /etc/credstore/api-keys")
    restart(machine)
    models = "curl -sS -o /dev/null -w '%{{http_code}}' -H 'X-Api-Key: {0}' http://127.0.0.1:8420/v1/models"
    equal(machine.run(models.format("none")).stdout, "401", "without a key")
    equal(machine.run(models.format("one")).stdout, "200", "with the credential's key")
    machine.run("rm /etc/credstore/api-keys; mkdir -p /etc/lockstep/keys; "
                f"echo first $({key.format('one')}) > /etc/lockstep/keys/keys")
    settings(machine, 'api_keys = "/etc/lockstep/keys/keys"\n')
    restart(machine)
    equal(machine.run(models.format("two")).stdout, "401", "before the reload")
    machine.run(f"echo second $({key.format('two')}) > /etc/lockstep/keys/new; mv /etc/lockstep/keys/new "
                "/etc/lockstep/keys/keys; systemctl reload lockstepd")
    wait_until("the reload", lambda: machine.run(models.format("two")).stdout == "200", 5)
    machine.run("rm -r /etc/lockstep/keys /etc/lockstep/lockstepd.toml.d/test.toml")
    restart(machine)


def fails_with(machine, status, text, subject):
    begin = cursor(machine)
    failed = machine.run("systemctl reset-failed lockstepd; systemctl restart lockstepd", check=False)
    if failed.returncode == 0:
        raise AssertionError("the service started")
    time.sleep(4)  # RestartSec= and more
    equal(property_of(machine, "ExecMainStatus"), str(status), "exit status")
    equal(property_of(machine, "NRestarts"), "0", "restarts")
    expect(text, log_since(machine, begin))
    expect(subject, machine.run(f"journalctl -x -u lockstepd --no-pager --after-cursor='{begin}'").stdout)


def models(machine):
    """a model that is moved, unreadable, below a closed directory or in a home directory is named, with the remedy"""
    subject = "The model of Lockstep cannot be served"
    machine.run("cp -r /usr/share/lockstep/models/starter /var/lib/lockstep/models/one")
    settings(machine, 'model = "/var/lib/lockstep/models/one"\n')
    restart(machine)
    expect('"id":"one"', machine.run("curl -sS http://127.0.0.1:8420/v1/models").stdout)
    machine.run("mv /var/lib/lockstep/models/one /var/lib/lockstep/models/other")
    fails_with(machine, 4, "/var/lib/lockstep/models/one", subject)
    machine.run("mv /var/lib/lockstep/models/other /var/lib/lockstep/models/one; chmod 0 /var/lib/lockstep/models/one/config.json")
    fails_with(machine, 4, "config.json", subject)
    machine.run("chmod 644 /var/lib/lockstep/models/one/config.json; mkdir -p /srv/closed; chmod 700 /srv/closed;"
                "mv /var/lib/lockstep/models/one /srv/closed/one")
    settings(machine, 'model = "/srv/closed/one"\n')
    fails_with(machine, 4, "/srv/closed belongs to root and has mode 0700", subject)
    machine.run("mv /srv/closed/one /home/ann/one; rmdir /srv/closed; chmod 755 /home/ann")
    settings(machine, 'model = "/home/ann/one"\n')
    fails_with(machine, 4, "is hidden by ProtectHome=", subject)
    drop_in(machine, "[Service]\nProtectHome=tmpfs\nBindReadOnlyPaths=/home/ann/one\n")
    restart(machine)
    expect('"id":"one"', machine.run("curl -sS http://127.0.0.1:8420/v1/models").stdout)
    no_drop_in(machine)
    machine.run("rm -r /home/ann/one /etc/lockstep/lockstepd.toml.d/test.toml")
    settings(machine, "model = 7\n")
    fails_with(machine, 3, "test.toml", "The configuration of Lockstep has a mistake")
    machine.run("rm -r /etc/lockstep/lockstepd.toml.d")
    restart(machine)


def disk_full(machine):
    """with a full disk for snapshots requests are answered, with one warning"""
    machine.run("systemctl stop lockstepd; mount -t tmpfs -o size=64k,mode=700,uid=$(id -u lockstep) none /var/cache/lockstep")
    begin = cursor(machine)
    restart(machine)
    for topic in ("curl", "wget", "git", "vim"):
        chat(machine, [{"role": "user", "content": f"What does the package {topic} do, and who needs it?"}])
    machine.run("systemctl stop lockstepd")
    said = log_since(machine, begin)
    expect("No space left on device", said)
    warnings = said.count("No space left on device")
    expect("Lockstep does not keep all conversations",
           machine.run(f"journalctl -x -u lockstepd --no-pager --after-cursor='{begin}'").stdout)
    machine.run("umount /var/cache/lockstep")
    restart(machine)
    equal(warnings, 1, "number of warnings")


def upgrades(machine):
    """an upgrade under load refuses nobody, keeps edited settings and units, and conversations"""
    machine.run("echo 'queue = 63' >> /etc/lockstep/lockstepd.toml")
    drop_in(machine, "[Service]\nNice=1\n")
    restart(machine)
    before = conversation(machine)
    time.sleep(1)
    machine.write("/usr/local/bin/load", "#!/bin/sh\nwhile [ ! -e /run/enough ]; do\n"
                  f"lockstep ask --temperature 0 '{QUESTION}' >/dev/null 2>>/run/load.errors; echo $? >>/run/load.statuses\n"
                  "curl -sS --max-time 60 -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8420/v1/models >>/run/load.codes\n"
                  "done\n")
    machine.run("chmod 755 /usr/local/bin/load")
    load = [machine.start("/usr/local/bin/load") for _ in range(3)]
    time.sleep(1)
    old = main_pid(machine)
    machine.run("apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-confold "
                "$(ls /newer/*.deb | grep -v gpu)", seconds=300)
    time.sleep(1)
    machine.run("touch /run/enough")
    for one in load:
        one.wait(60)
    if main_pid(machine) == old:
        raise AssertionError("the old daemon still runs")
    expect("99.1", machine.run("dpkg-query -W -f '${Version}' lockstep-daemon").stdout)
    statuses = machine.run("sort /run/load.statuses | uniq -c").stdout.split()
    codes = machine.run("sort /run/load.codes | uniq -c").stdout.split()
    equal(statuses[1::2], ["0"], f"exit statuses of lockstep ask ({statuses}: "
          f"{machine.run('cat /run/load.errors').stdout.strip()})")
    equal(codes[1::2], ["200"], f"codes of HTTP ({codes})")
    expect("queue = 63", machine.run("lockstepd --check-config").stdout)
    equal(property_of(machine, "Nice"), "1", "Nice= of the edited unit")
    after = conversation(machine)
    equal(after[:3], before[:3], "the conversation")
    if after[3] < 16:
        raise AssertionError(f"only {after[3]} tokens of the prompt were known")
    no_drop_in(machine)
    restart(machine)
    machine.run("rm -f /usr/local/bin/load /run/load.* /run/enough")
    return f"{statuses[0]} questions and {codes[0]} HTTP requests meanwhile"


def user_unit(machine):
    """a user's own daemon runs as a user unit, beside the system's"""
    uid = machine.run("id -u ann").stdout.strip()
    machine.run("loginctl enable-linger ann")
    wait_until("ann's manager", lambda: (machine.root / f"run/user/{uid}/systemd/private").exists() or machine.run(
        f"test -S /run/user/{uid}/systemd/private", check=False).returncode == 0, 20)
    own = f"export XDG_RUNTIME_DIR=/run/user/{uid} HOME=/home/ann; "
    machine.run(own + "systemctl --user enable --now lockstepd", user="ann")
    models_of = f"curl -sS --unix-socket /run/user/{uid}/lockstep/http.sock http://localhost/v1/models"
    expect("starter", machine.run(models_of, user="ann").stdout)
    expect("Starter", machine.run(own + f"lockstep ask --temperature 0 '{QUESTION}'", user="ann").stdout)
    machine.run(own + "systemctl --user disable --now lockstepd lockstepd.socket lockstepd-http.socket", user="ann")
    machine.run("loginctl disable-linger ann; rm -rf /home/ann/.cache /home/ann/.config")


def gpu_package(machine):
    """lockstep-gpu opens the devices of GPUs, and its removal closes them"""
    equal(property_of(machine, "PrivateDevices"), "yes", "PrivateDevices=")
    machine.run("apt-get install -q -y /newer/lockstep-gpu_*.deb", seconds=300)
    equal(property_of(machine, "PrivateDevices"), "no", "PrivateDevices=")
    equal(property_of(machine, "ActiveState"), "active", "the service")
    expect("char-drm", property_of(machine, "DeviceAllow"))
    machine.run("apt-get purge -q -y lockstep-gpu", seconds=300)
    equal(property_of(machine, "PrivateDevices"), "yes", "PrivateDevices= afterwards")
    expect("Starter", machine.run(f"lockstep ask --temperature 0 '{QUESTION}'").stdout)


def leftovers(machine):
    found = machine.run("find / -xdev \\( -path /proc -o -path /sys -o -path /debs -o -path /newer -o -path /var/log \\) -prune "
                        "-o -iname '*lockstep*' -print").stdout
    return [line for line in found.splitlines() if not line.startswith("/tmp/systemd-private")]


def removal(machine):
    """remove keeps configuration, conversations and models, installing again goes on with them, purge leaves nothing"""
    machine.run("mkdir -p /var/lib/lockstep/models/mine")
    machine.run("apt-get remove -q -y lockstep lockstep-daemon lockstep-client lockstep-model-starter", seconds=300)
    machine.run("ls /var/cache/lockstep/*.entry; test -d /var/lib/lockstep/models/mine; test -f /etc/lockstep/lockstepd.toml")
    if machine.run("curl -sS http://127.0.0.1:8420/health", check=False).returncode == 0:
        raise AssertionError("something still answers")
    machine.run("apt-get install -q -y --no-install-recommends /debs/lockstep*.deb", seconds=300)
    expect("Starter", machine.run(f"lockstep ask --temperature 0 '{QUESTION}'").stdout)
    expect('"status":"ok"', machine.run("curl -sS --unix-socket /run/lockstep/http.sock http://localhost/health").stdout)
    machine.run("apt-get remove -q -y lockstep lockstep-daemon lockstep-client lockstep-model-starter", seconds=300)
    machine.run("apt-get purge -q -y lockstep-daemon", seconds=300)
    equal(leftovers(machine), [], "what is left")
    equal(machine.run("systemctl list-units --all --plain --no-legend '*lockstep*'").stdout.strip(), "", "units")


def newcomer(machine):
    """the first ten minutes are as the README says"""
    readme = (ROOT / "README.md").read_text()
    section = re.search(r"^## Install it$(.*?)^## ", readme, re.M | re.S).group(1)
    blocks = re.findall(r"^```bash\n(.*?)^```$", section, re.M | re.S)
    if len(blocks) < 6:
        raise AssertionError("the README has lost its blocks")
    machine.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n')
    machine.run("chmod 755 /usr/local/bin/sudo")
    said = []
    for block in blocks:
        # apt asks nothing when nobody can answer; it would have to be told -y otherwise.
        said.append(machine.run(f"cd /debs && PATH=$PATH:/usr/local/bin && {block.replace('apt install', 'apt install -y')}",
                                seconds=300).stdout)
    expect("Starter", said[1])
    expect('"choices"', said[2])
    expect("mine", said[3])
    expect("listening on", said[4])
    machine.run("rm /usr/local/bin/sudo")
    equal(leftovers(machine), [], "what is left")
    return f"{len(blocks)} blocks"


STEPS = (installs, ready_means_ready, members_only, http, autopkgtest, confined, activation, killed, watchdog, frozen, stops, keys, models,
         disk_full, upgrades, user_unit, gpu_package, removal, newcomer)
