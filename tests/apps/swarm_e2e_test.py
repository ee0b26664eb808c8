#!/usr/bin/env python3
"""Whole-program tests: real peers on loopback that train, die, freeze, join and leave."""
import json
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.processes import PeersTest, Process, cpu_seconds, example_job, run, run_tests  # noqa: E402

DATA = "/usr/share/datasets/fashion-mnist"
DEADLINE_MS = 300  # gossip.deadline_ms of hybrid mode
HAS_DATA = os.path.isdir(DATA)


class SwarmTest(PeersTest):
    def write_job(self, **changes):
        return self.write(f"job{len(os.listdir(self.folder.name))}.json", json.dumps(example_job(**changes)))

    def start_swarm(self, job, count):
        first = self.start("--job", job, "--min-peers", count, "--name", "peer0", "--shard", 0)
        for index in range(1, count):
            self.start("--bootstrap", first.listen, "--min-peers", count, "--name", f"peer{index}", "--shard", index)
        return self.peers

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_swarm_meets_its_target_and_says_so_in_json(self):
        job = self.write_job(rounds=600, target={"metric": "accuracy", "at_least": 0.75})
        done = run("swarm", "--job", job, "--peers", 3, "--json", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual(summary["schema"], "hobnob.swarm/1")
        self.assertTrue(summary["target_met"])
        self.assertEqual([peer["exit"] for peer in summary["peers"]], [0, 0, 0])
        for peer in summary["peers"]:
            self.assertGreaterEqual(peer["accuracy"], 0.75)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_every_preset_trains_a_live_swarm(self):
        listed = run("job", "example", "--list").stdout.split("Algorithms", 1)[1]
        names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
        self.assertGreaterEqual(len(names), 15)
        for name in names:
            with self.subTest(name):
                steps = example_job(name)["gossip"].get("local_steps", 1)
                job = self.write_job(name=name, rounds=max(8, 250 // steps), evaluate_every=0,
                                     workload__layers=[784, 32, 10],
                                     target={"metric": "accuracy", "at_least": 0.7})
                done = run("swarm", "--job", job, "--peers", 3, "--json", timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(json.loads(done.stdout)["target_met"])

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_the_demo_job_brings_every_peer_to_88_percent(self):
        done = run("swarm", "--job", self.write_job(name="fashion-mlp"), "--peers", 4, "--json", timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        peers = json.loads(done.stdout)["peers"]
        print("accuracy:", [peer["accuracy"] for peer in peers], file=sys.stderr)
        self.assertEqual(len(peers), 4)
        for peer in peers:
            self.assertGreaterEqual(peer["accuracy"], 0.88)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_a_killed_peer_resumes_from_its_state_directory(self):
        # However far the others have gone: its own parameters, not a neighbour's.
        job = self.write_job(name="fashion-mlp", rounds=1_000_000, gossip__rejoin_lag=1_000_000)
        state = os.path.join(self.folder.name, "state")
        first = self.start("--job", job, "--min-peers", 3, "--name", "peer0")
        self.start("--bootstrap", first.listen, "--min-peers", 3)
        again = ("--bootstrap", first.listen, "--min-peers", 3, "--state", state, "--save-every", 0.2)
        victim = self.start(*again, "--name", "phoenix")
        victim.wait_until(lambda status: status["rounds_done"] > 50)
        before = victim.wait_until(lambda _: os.path.exists(f"{state}/peer.state"))
        victim.signal(signal.SIGKILL)
        victim.finish(10)
        back = self.start(*again)
        log = back.wait_for_log("going on at round")
        after = back.wait_until(lambda status: status["rounds_done"] > 20 and status["members"] == 3)
        self.assertEqual((after["peer"], after["name"], after["shard"]), (before["peer"], "phoenix", before["shard"]), log)
        self.assertGreater(after["round"], 50)
        # Its neighbours exchange with the new process: transactions go on at both ends.
        edge = next(each for each in first.get("/edges")["edges"] if each["peer"] == after["peer"])
        first.wait_until(lambda page: any(each["peer"] == after["peer"] and each["transactions"] > edge["transactions"] + 3
                                          for each in page["edges"]), page="/edges")
        speeds = first.wait_until(lambda page: all(each["rounds_per_second"] > 0 for each in page["peers"]), page="/peers")
        self.assertEqual(len(speeds["peers"]), 3)
        self.assertNotIn("joined at round", back.log)
        self.assertLess(after["loss"], 1.0)  # untrained: 2.3
        invariants = first.get("/status")["invariants"]
        self.assertEqual(invariants["replicas_differed"], 0)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_a_whole_swarm_stopped_and_started_again_goes_on(self):
        job = self.write_job(name="fashion-mlp", rounds=1_000_000)
        states = [os.path.join(self.folder.name, f"state{index}") for index in range(2)]

        def start():
            first = self.start("--job", job, "--min-peers", 2, "--state", states[0])
            return first, self.start("--bootstrap", first.listen, "--min-peers", 2, "--state", states[1])

        first, second = start()
        reached = first.wait_until(lambda status: status["rounds_done"] > 100)
        for peer in (first, second):
            peer.signal(signal.SIGINT)
        for peer in (first, second):
            self.assertEqual(peer.finish(20), 130)
        first, second = start()
        for peer in (first, second):
            status = peer.wait_until(lambda status: status["rounds_done"] > 5)
            self.assertGreater(status["round"], reached["round"])
            self.assertLess(status["loss"], 1.0)  # untrained: 2.3

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_the_first_peer_finds_the_swarm_again_with_its_old_command_line(self):
        job = self.write_job(name="fashion-mlp", rounds=1_000_000)
        command = ("--job", job, "--min-peers", 3, "--state", os.path.join(self.folder.name, "state"))
        first = self.start(*command)
        others = [self.start("--bootstrap", first.listen, "--min-peers", 3) for _ in range(2)]
        first.wait_until(lambda status: status["rounds_done"] > 20 and status["members"] == 3)
        first.signal(signal.SIGINT)
        self.assertEqual(first.finish(20), 130)
        left = others[0].wait_until(lambda status: status["members"] == 2)
        self.assertEqual(left["invariants"]["one_sided_transactions"], 0)
        back = self.start(*command)
        back.wait_until(lambda status: status["rounds_done"] > 20 and status["members"] == 3)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_missed_target_is_exit_1(self):
        job = self.write_job(rounds=50, target={"metric": "accuracy", "at_least": 0.99})
        self.assertEqual(run("swarm", "--job", job, "--peers", 2, timeout=60).returncode, 1)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_ctrl_c_ends_a_swarm_gracefully_with_its_summary(self):
        swarm = Process("swarm", "--job", self.write_job(rounds=1_000_000), "--peers", 2)
        self.peers.append(swarm)
        swarm.wait_for_log(" training ", 60)
        swarm.signal(signal.SIGINT)
        self.assertEqual(swarm.finish(20), 130)
        self.assertIn("2 peers", swarm.process.stdout.read().decode())

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_survivors_of_a_kill_and_a_freeze_stall_no_longer_than_the_deadline(self):
        job = self.write_job(name="fashion-mlp", rounds=1_000_000, evaluate_every=500,
                             optimizer={"kind": "adamw", "learning_rate": 0.0005})
        peers = self.start_swarm(job, 4)
        peers[0].wait_until(lambda status: status["round"] > 200, 60)
        peers[3].signal(signal.SIGKILL)
        peers[0].wait_until(lambda status: status["members"] == 3, 30)
        peers[2].signal(signal.SIGSTOP)
        frozen_at = time.monotonic()
        peers[0].wait_until(lambda status: status["members"] == 2, 30)
        round_then = peers[0].get("/status")["round"]
        peers[0].wait_until(lambda status: time.monotonic() - frozen_at > 20, 40)
        self.assertGreater(peers[0].get("/status")["round"], round_then, "survivors went on")
        peers[2].signal(signal.SIGCONT)
        peers[2].wait_until(lambda status: status["state"] == "training" and status["members"] == 3, 30)
        back = peers[2].get("/status")["rounds_done"]
        peers[2].wait_until(lambda status: status["rounds_done"] > back + 50, 30)
        stalls = {peer: peer.get("/status")["longest_stall_ms"] for peer in (peers[0], peers[1])}
        print("longest stall of a survivor:", [f"{stall:.0f} ms" for stall in stalls.values()], file=sys.stderr)
        for stall in stalls.values():
            self.assertLess(stall, DEADLINE_MS + 100)
        for peer in peers[:3]:
            peer.wait_until(lambda status: (status["accuracy"] or 0) >= 0.88, 90)
            self.assertIsNone(peer.process.poll(), peer.log)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_a_newcomer_joins_through_any_peer_after_the_first_has_left(self):
        job = self.write_job(name="fashion-mlp", rounds=1_000_000)
        peers = self.start_swarm(job, 3)
        peers[1].wait_until(lambda status: status["round"] > 100, 60)
        peers[0].signal(signal.SIGINT)
        self.assertEqual(peers[0].finish(), 130)
        peers[1].wait_until(lambda status: status["members"] == 2, 10)
        newcomer = self.start("--bootstrap", peers[2].listen, "--name", "newcomer")
        status = newcomer.wait_until(lambda status: status["rounds_done"] > 20 and status["join_seconds"] > 0, 30)
        print(f"joined in {status['join_seconds']:.2f} s", file=sys.stderr)
        self.assertGreater(status["round"], 100)
        self.assertLess(status["join_seconds"], 5.0)
        edges = peers[1].wait_until(
            lambda edges: any(edge.get("name") == "newcomer" and edge["transactions"] > 0 for edge in edges["edges"]),
            30, "/edges")
        self.assertEqual(edges["schema"], "hobnob.edges/1")
        newcomer.signal(signal.SIGTERM)
        self.assertEqual(newcomer.finish(), 130)

    @unittest.skipUnless(HAS_DATA, f"SKIPPED: {DATA} is missing; apt-get install dataset-fashion-mnist")
    def test_int8_sends_a_quarter_of_the_bytes_at_the_same_accuracy(self):
        results = {}
        for codec in ("fp32", "int8"):
            job = self.write_job(name="fashion-mlp", rounds=1000, target=None, gossip__codec={"kind": codec})
            done = run("swarm", "--job", job, "--peers", 3, "--json", timeout=180)
            self.assertEqual(done.returncode, 0, done.stderr)
            peers = json.loads(done.stdout)["peers"]
            results[codec] = (sum(p["edge_bytes_sent"] for p in peers) / sum(p["rounds"] for p in peers),
                              sum(p["accuracy"] for p in peers) / len(peers))
        print("bytes a round, accuracy:", results, file=sys.stderr)
        self.assertLessEqual(results["int8"][0], 0.27 * results["fp32"][0])
        self.assertGreater(results["int8"][1], results["fp32"][1] - 0.005)

    def test_a_waiting_peer_uses_less_than_one_percent_of_a_core(self):
        job = self.write_job(name="quadratic", workload__curvature=[[1.0], [2.0]], workload__target=[[1.0], [0.0]])
        peer = self.start("--job", job)
        began = time.monotonic()
        # OpenBLAS and UCX spin for a moment when they are loaded.
        peer.wait_until(lambda status: status["state"] == "waiting" and time.monotonic() - began > 2)
        before, since = cpu_seconds(peer.process.pid), time.monotonic()
        while time.monotonic() - since < 10:
            peer.read(10 - (time.monotonic() - since))
        used = (cpu_seconds(peer.process.pid) - before) / (time.monotonic() - since)
        print(f"idle peer: {100 * used:.2f} % of a core", file=sys.stderr)
        self.assertLess(used, 0.01)

    def test_status_pages_are_schema_tagged(self):
        job = self.write_job(name="quadratic", workload__curvature=[[1.0], [2.0]], workload__target=[[1.0], [0.0]])
        peer = self.start("--job", job)
        for page in ("status", "peers", "edges", "topology", "history", "job", "healthz"):
            self.assertEqual(peer.get("/" + page)["schema"], f"hobnob.{page}/1")


if __name__ == "__main__":
    sys.exit(run_tests())
