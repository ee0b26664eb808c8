#!/usr/bin/env python3
"""Bad input gives one line that names the thing and the remedy, exit code 2 or 3, and leaves nothing behind."""
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.processes import PeersTest, example_job, run, run_tests  # noqa: E402

DATA = "/usr/share/datasets/fashion-mnist"


class ErrorsTest(PeersTest):
    def setUp(self):
        super().setUp()
        self.before = set(os.listdir("/tmp"))

    def tearDown(self):
        super().tearDown()
        left = [name for name in set(os.listdir("/tmp")) - self.before if name.startswith("hobnob-job-")]
        self.assertEqual(left, [], "files left behind")

    def write_job(self, **changes):
        return self.write("job.json", json.dumps(example_job(**changes)))

    def refuse(self, done, *words, codes=(2,)):
        self.assertIn(done.returncode, codes, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = [line for line in done.stderr.splitlines() if line.startswith("hobnob: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def start_quadratic(self):
        job = self.write_job(name="quadratic", workload__curvature=[[1.0], [2.0]], workload__target=[[1.0], [0.0]])
        return self.start("--job", job), job

    # State directories.

    def save_state(self):
        """A state directory with a few rounds of the quadratic in it."""
        peer, job = self.start_quadratic()
        state = self.path("state")
        self.start("--bootstrap", peer.listen, "--state", state).wait_until(lambda status: status["rounds_done"] > 5)
        self.peers[-1].signal(signal.SIGINT)
        self.assertEqual(self.peers[-1].finish(20), 130)
        return job, state

    def test_state_of_another_job_names_the_file_and_the_key(self):
        job, state = self.save_state()
        with open(job) as file:
            document = json.load(file)
        document["gossip"]["gamma"] = 0.5
        with open(job, "w") as file:
            json.dump(document, file)
        before = pathlib.Path(state, "peer.state").read_bytes()
        self.refuse(run("peer", "--job", job, "--state", state), f"{state}/peer.state", "gossip.gamma", "delete")
        self.assertEqual(pathlib.Path(state, "peer.state").read_bytes(), before)

    def test_damaged_state_is_refused_and_kept(self):
        job, state = self.save_state()
        with open(f"{state}/peer.state", "r+b") as file:
            file.seek(40)
            file.write(b"\xff")
        before = pathlib.Path(state, "peer.state").read_bytes()
        self.refuse(run("peer", "--job", job, "--state", state), f"{state}/peer.state", "checksum", "delete it")
        self.assertEqual(pathlib.Path(state, "peer.state").read_bytes(), before)

    def test_a_state_directory_belongs_to_one_process(self):
        job = self.write_job(name="quadratic", workload__curvature=[[1.0], [2.0]], workload__target=[[1.0], [0.0]])
        state = self.path("state")
        self.start("--job", job, "--state", state)
        self.refuse(run("peer", "--job", job, "--state", state), f"--state {state}", "another hobnob")

    def test_state_that_is_a_file(self):
        self.refuse(run("peer", "--state", self.write_job()), "--state", "job.json", "Not a directory")

    def test_state_alone_without_anything_saved_needs_a_job(self):
        self.refuse(run("peer", "--state", self.path("state")), "--job FILE", "--bootstrap")

    # Job files.

    def test_missing_job_file(self):
        self.refuse(run("swarm", "--job", "/no/such.json", "--peers", 2), "/no/such.json", "job example")
        self.refuse(run("swarm", "--job", self.write_job(), "--peers", 2, "--sites", "a,,b"), "--sites", "a,a,b,b")

    def test_job_with_an_unknown_key(self):
        job = self.write_job(gossip__codek={"kind": "int8"})
        self.refuse(run("job", "check", job), "gossip.codek", 'did you mean "gossip.codec"')

    def test_job_with_a_wrong_type(self):
        self.refuse(run("job", "check", self.write_job(rounds="many")), "rounds", "whole number")

    def test_job_with_a_value_out_of_range(self):
        self.refuse(run("job", "check", self.write_job(gossip__gamma=7.0)), "gossip.gamma", "out of range")

    def test_job_that_is_not_json(self):
        pathlib.Path(self.path("job.json")).write_text('{"name": \n "x",,}')
        self.refuse(run("job", "check", self.path("job.json")), "job.json:2", "not valid JSON")

    def test_keys_that_clash_are_both_named(self):
        job = self.write_job(gossip__channel="snapshot", gossip__codec={"kind": "int8"})
        self.refuse(run("job", "check", job), "gossip.channel", "gossip.codec", "edge-replica")

    # Data.

    def swarm_with_data(self, folder):
        return run("swarm", "--job", self.write_job(data__path=folder), "--peers", 2)

    def test_missing_data(self):
        self.refuse(self.swarm_with_data("/no/data"), "/no/data", "dataset-fashion-mnist")

    @unittest.skipUnless(os.path.isdir(DATA), f"SKIPPED: {DATA} is missing")
    def test_data_that_is_not_gzip(self):
        shutil.copytree(DATA, self.path("data"))
        pathlib.Path(self.path("data/train-images-idx3-ubyte.gz")).write_bytes(b"\x1f\x8bnot gzip at all")
        self.refuse(self.swarm_with_data(self.path("data")), "train-images-idx3-ubyte.gz")

    @unittest.skipUnless(os.path.isdir(DATA), f"SKIPPED: {DATA} is missing")
    def test_truncated_idx(self):
        shutil.copytree(DATA, self.path("data"))
        name = self.path("data/t10k-labels-idx1-ubyte.gz")
        content = gzip.open(name).read()
        with gzip.open(name, "wb") as file:
            file.write(content[:5000])
        self.refuse(self.swarm_with_data(self.path("data")), "t10k-labels-idx1-ubyte.gz", "truncated")

    # Addresses.

    def test_port_in_use(self):
        peer, job = self.start_quadratic()
        self.refuse(run("peer", "--job", job, "--listen", peer.listen), peer.listen, "in use", "choose")

    def test_http_port_in_use(self):
        peer, job = self.start_quadratic()
        address = peer.http.removeprefix("http://")
        self.refuse(run("peer", "--job", job, "--http", address), address, "in use")

    def test_unreachable_bootstrap_is_tried_again_and_then_named(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        done = run("peer", "--bootstrap", address, "--join-timeout", 1.5)
        self.refuse(done, address, "refused", "check the address", codes=(2, 3))
        self.assertIn("trying again", done.stderr)

    def test_bad_addresses_and_networks(self):
        self.refuse(run("peer", "--bootstrap", "nowhere"), "--bootstrap", "HOST:PORT")
        self.refuse(run("peer", "--job", "x", "--listen", "1.2.3.4:99999"), "--listen", "bad port")
        self.refuse(run("peer", "--job", "x", "--trusted-network", "10.0.0.0"), "--trusted-network", "ADDRESS/BITS")
        self.refuse(run("peer", "--job", "x", "--listen", "0.0.0.0:0"), "--advertise")
        self.refuse(run("peer", "--job", "x", "--http", "0.0.0.0:0"), "--http-open")
        self.refuse(run("peer"), "--job", "--bootstrap")
        self.refuse(run("peer", "--nonsense"), "nonsense", "--help")

    def test_a_job_that_differs_from_the_swarms_is_refused_by_its_first_key(self):
        peer, job = self.start_quadratic()
        document = json.loads(pathlib.Path(job).read_text())
        document["optimizer"]["learning_rate"] = 0.25
        other = self.path("other.json")
        pathlib.Path(other).write_text(json.dumps(document))
        done = run("peer", "--job", other, "--bootstrap", peer.listen)
        self.refuse(done, "optimizer.learning_rate", codes=(3,))

    # Hostile bytes.

    def test_garbage_to_the_listen_port_is_dropped_and_named(self):
        peer, _ = self.start_quadratic()
        host, port = peer.listen.split(":")
        for payload in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096, bytes(range(256)) * 64):
            with socket.create_connection((host, int(port))) as stranger:
                stranger.sendall(payload)
                stranger.settimeout(10)
                try:
                    while stranger.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        peer.wait_for_log("dropped a connection from 127.0.0.1")
        self.assertEqual(peer.get("/healthz")["state"], "waiting")

    def test_an_http_request_of_a_megabyte_is_refused(self):
        peer, _ = self.start_quadratic()
        host, port = peer.http.removeprefix("http://").split(":")
        for head in (b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nX: " + b"b" * (1 << 20) + b"\r\n\r\n",
                     b"POST /status HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n" + b"c" * (1 << 20)):
            with socket.create_connection((host, int(port))) as stranger:
                stranger.settimeout(15)
                answer = b""
                try:
                    stranger.sendall(head)
                    while chunk := stranger.recv(4096):
                        answer += chunk
                except (ConnectionResetError, BrokenPipeError):
                    pass
                if answer:
                    self.assertRegex(answer.split(b"\r\n")[0], rb"HTTP/1\.[01] 4\d\d")
        self.assertEqual(peer.get("/healthz")["state"], "waiting")

    # Files written.

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: a small file system needs root to be mounted")
    def test_a_full_disk_leaves_nothing_behind(self):
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("SKIPPED: cannot mount a tmpfs here")
        try:
            job = self.write_job(name="quadratic")
            done = run("simulate", "--job", job, "--peers", 8, "--rounds", 500, "--out", disk + "/trace.jsonl")
            self.refuse(done, "--out", "trace.jsonl", "No space left", codes=(1, 2))
            self.assertEqual(os.listdir(disk), [])
        finally:
            subprocess.run(["umount", disk])

    def test_out_in_a_missing_folder(self):
        job = self.write_job(name="quadratic")
        done = run("simulate", "--job", job, "--peers", 8, "--out", "/no/folder/x.jsonl")
        self.refuse(done, "/no/folder/x.jsonl")

    def test_bad_simulation_arguments(self):
        job = self.write_job(name="quadratic")
        self.refuse(run("simulate", "--job", job, "--link", "delay=fast"), "--link", "delay=fast")
        self.refuse(run("simulate", "--job", job, "--faults", "kill:99@1s"), "peer 99")
        self.refuse(run("simulate", "--job", job, "--peers", 3), "--peers 3", "8 rows")
        self.refuse(run("simulate", "--job", job, "--speeds", "1,-2"), "--speeds")


if __name__ == "__main__":
    sys.exit(run_tests())
