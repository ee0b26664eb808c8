#!/usr/bin/env python3
"""Two peers in two network namespaces joined by a veth pair: bulk goes over UCX where the network is named as trusted,
and nothing of UCX listens on it where it is not. Needs root."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.processes import PeersTest, example_job, run_tests  # noqa: E402

NETWORK = "10.77.0.0/24"


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: network namespaces need root")
class NetworkTest(PeersTest):
    def setUp(self):
        self.spaces = [f"hob{os.getpid()}{side}" for side in "ab"]
        for space in self.spaces:
            if ip("netns", "add", space).returncode != 0:
                self.skipTest("SKIPPED: no network namespaces here")
            ip("-n", space, "link", "set", "lo", "up")
        ip("-n", self.spaces[0], "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", self.spaces[1])
        for number, space in enumerate(self.spaces, 1):
            ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", "veth0")
            if ip("-n", space, "link", "set", "veth0", "up").returncode != 0:
                self.skipTest("SKIPPED: no veth pairs here")
        for space in self.spaces:
            if not any("state UP" in ip("-n", space, "link", "show", "veth0").stdout for _ in range(500)):
                self.skipTest("SKIPPED: the veth pair does not come up")
        super().setUp()

    def tearDown(self):
        super().tearDown()
        for space in self.spaces:
            ip("netns", "del", space)

    def inside(self, number, *command):
        return ["ip", "netns", "exec", self.spaces[number], *command]

    def start_in(self, number, *arguments):
        return self.start(*arguments, prefix=self.inside(number))

    def start_two(self, *arguments):
        job = os.path.join(self.folder.name, "job.json")
        with open(job, "w") as file:
            json.dump(example_job("fashion-mlp", rounds=1_000_000), file)
        first = self.start_in(0, "--job", job, "--listen", "10.77.0.1:0", *arguments)
        second = self.start_in(1, "--bootstrap", first.listen, "--listen", "10.77.0.2:0", "--min-peers", 2, *arguments)
        return first, second

    def page(self, number, peer, page):
        """The status page, read from inside the peer's own namespace."""
        read = "import sys,urllib.request;print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
        done = subprocess.run(self.inside(number, sys.executable, "-c", read, peer.http + page), capture_output=True,
                              text=True, timeout=20)
        return json.loads(done.stdout)

    def edge(self, number, peer):
        for _ in range(300):
            edges = self.page(number, peer, "/edges")["edges"]
            if edges and (edges[0]["bulk_bytes_sent"] or 0) > 1_000_000:
                return edges[0]
            peer.read(0.1)
        logs = "\n".join(each.log for each in self.peers if each.read(0) or True)
        self.fail(f"no exchange: {edges}\n{logs}")

    def listeners(self, number, process):
        done = subprocess.run(self.inside(number, "ss", "-Htlnp"), capture_output=True, text=True)
        return [line.split()[3] for line in done.stdout.splitlines() if f"pid={process.process.pid}," in line]

    def test_bulk_goes_over_ucx_on_a_network_named_as_trusted(self):
        first, second = self.start_two("--trusted-network", NETWORK)
        edge = self.edge(0, first)
        self.assertEqual(edge["bulk"], "ucx")
        print("bulk bytes over ucx:", edge["bulk_bytes_sent"], file=sys.stderr)
        on_network = [address for address in self.listeners(0, first) if address.startswith("10.77.0.1:")]
        self.assertGreater(len(on_network), 1, "the UCX listener is there beside the control port")

    def test_nothing_of_ucx_listens_on_a_network_not_named(self):
        first, second = self.start_two()
        edge = self.edge(0, first)
        self.assertEqual(edge["bulk"], "tcp")
        print("bulk bytes over tcp:", edge["bulk_bytes_sent"], file=sys.stderr)
        outside = [address for address in self.listeners(0, first) if not address.startswith("127.")]
        self.assertEqual(outside, [first.listen], "only the control port is open beyond loopback")


if __name__ == "__main__":
    sys.exit(run_tests())
