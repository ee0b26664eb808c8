"""Real hobnob processes for whole-program tests. Waits are for a condition or for output, with a limit; never a sleep."""
import json
import os
import select
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request

HOBNOB = os.environ.get("HOBNOB", "build/release/apps/hobnob")


def run(*arguments, timeout=60, **options):
    """A command to its end; stdout and stderr as text."""
    return subprocess.run([HOBNOB, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)


def example_job(name="fashion-softmax", **changes):
    """A job document; dotted keys in `changes` are written with double underscores: gossip__mode="sync"."""
    job = json.loads(run("job", "example", name).stdout)
    for path, value in changes.items():
        place = job
        *parents, last = path.split("__")
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    return job


class Process:
    """One running hobnob; its log is read as it comes."""

    def __init__(self, *arguments, prefix=()):
        command = [*prefix, HOBNOB, *map(str, arguments)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stderr.fileno(), False)
        self.log = ""

    def read(self, seconds):
        """Takes what the process says within the time; False when it will say no more."""
        ready, _, _ = select.select([self.process.stderr], [], [], seconds)
        if not ready:
            return True
        data = self.process.stderr.read()
        if data:
            self.log += data.decode()
        return bool(data)

    def wait_for_log(self, text, seconds=30):
        limit = time.monotonic() + seconds
        while text not in self.log:
            if time.monotonic() > limit or not self.read(0.2):
                raise AssertionError(f"no {text!r} within {seconds} s in:\n{self.log}")
        return self.log[self.log.index(text):].splitlines()[0]

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, seconds=60):
        """Its exit code."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > limit:
                raise AssertionError(f"still running after {seconds} s:\n{self.log}")
            self.read(0.1)
        self.read(0)
        return self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.communicate()


class Peer(Process):
    """One `hobnob peer`, with its status pages."""

    def __init__(self, *arguments, prefix=()):
        super().__init__("peer", *arguments, prefix=prefix)

    def addresses(self):
        line = self.wait_for_log("listens on ")
        words = line.replace(",", "").split()
        self.listen, self.http = words[2], words[-1].removesuffix("/status")
        return self

    def get(self, page):
        with urllib.request.urlopen(f"{self.http}{page}", timeout=10) as answer:
            return json.load(answer)

    def wait_until(self, condition, seconds=30, page="/status"):
        """Until condition(page's document) holds; gives the document."""
        limit = time.monotonic() + seconds
        while True:
            document = self.get(page)
            if condition(document):
                return document
            if time.monotonic() > limit:
                raise AssertionError(f"not within {seconds} s: {document}\n{self.log}")
            self.read(0.05)


class PeersTest(unittest.TestCase):
    """A folder, and peers that end with the test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.peers = []

    def tearDown(self):
        for peer in self.peers:
            peer.kill()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def start(self, *arguments, **options):
        peer = Peer(*arguments, **options)
        self.peers.append(peer)
        return peer.addresses()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_tests():
    """The calling script's tests. Exit code: 1 when one failed, else 77 when one was skipped, else 0."""
    result = unittest.main(verbosity=2, exit=False).result
    return 1 if not result.wasSuccessful() else 77 if result.skipped else 0
