"""Records five samples one after the other, each in as many seconds as its option `pace` says."""

import os
import time

from measure.keys import key

SUMMARY = "five numbers, slowly"
NEEDS = ()
OPTIONS = ("pace",)


def plan(session):
    return [key("paced", "rate", requests=n) for n in (1, 2, 4, 8, 16)]


def seconds(session):
    return 5 * float(session.options.get("pace", "0"))


def measure(session):
    told = {name: os.environ.get(name, "not set") for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")}
    pause = max(float(session.options.get("pace", "0")) / 3, 1e-6)
    for wanted in plan(session):
        values = [1 / timed(pause) for _ in range(3)]
        if session.wanted(wanted):
            session.record(wanted, "tok/s", values, told)


def timed(pause):
    begun = time.perf_counter()
    time.sleep(pause)
    return time.perf_counter() - begun
