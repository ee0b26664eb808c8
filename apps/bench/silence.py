#!/usr/bin/env python3
"""What silence costs on Fashion-MNIST: the table in the README. Takes about 25 minutes on two cores.

    apps/bench/silence.py [--hobnob build/release/apps/hobnob] [--seeds 1,2,3] [--rounds 1500]

Eight peers on a ring in the simulator, the MLP of `hobnob job example fashion-mlp`; accuracy is the mean over peers.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import tempfile

VARIANTS = {
    "always, fp32": {"codec": {"kind": "fp32"}},
    "always, int4": {"codec": {"kind": "int4"}},
    "rate 0.2, gamma 0.45, int4": {
        "codec": {"kind": "int4"}, "gamma": 0.45, "trigger": {"kind": "rate", "target": 0.2}},
    "rate 0.1, gamma 0.2, int4": {
        "codec": {"kind": "int4"}, "gamma": 0.2, "trigger": {"kind": "rate", "target": 0.1}},
}
PARTITIONS = {"iid": {"kind": "iid"}, "dirichlet 0.1": {"kind": "dirichlet", "alpha": 0.1}}


def run(hobnob, rounds, partition, gossip, seed):
    job = json.loads(subprocess.check_output([hobnob, "job", "example", "fashion-mlp"]))
    job.update(seed=seed, rounds=rounds, evaluate_every=0)
    job["data"]["partition"] = partition
    job["gossip"].update(mode="sync", topology={"kind": "ring"}, **gossip)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(job, file)
        file.flush()
        out = subprocess.check_output([hobnob, "simulate", "--job", file.name, "--peers", "8", "--json"],
                                      stderr=subprocess.DEVNULL)
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hobnob", default="build/release/apps/hobnob")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rounds", type=int, default=1500)
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    print("| data | sent when | accuracy, % | messages with values, % | MB sent a peer |\n|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for data, partition in PARTITIONS.items():
            for name, gossip in VARIANTS.items():
                done = list(pool.map(
                    lambda seed, p=partition, g=gossip: run(arguments.hobnob, arguments.rounds, p, g, seed), seeds))
                mean = {key: sum(last[key] for last in done) / len(done)
                        for key in ("accuracy", "sent_fraction", "bytes_per_peer")}
                each = ", ".join(f"{100 * last['accuracy']:.2f}" for last in done)
                print(f"| {data} | {name} | {100 * mean['accuracy']:.2f} ({each}) | {100 * mean['sent_fraction']:.1f} | "
                      f"{mean['bytes_per_peer'] / 1e6:.1f} |", flush=True)


if __name__ == "__main__":
    main()
