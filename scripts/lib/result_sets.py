"""Result sets of made-up trials, in the form that bertbench writes."""

import json
import statistics

KEY = "{model}.{precision}.s{sequence_length}.b{micro_batch_size}.a{gradient_accumulation_steps}.{nodes}n{gpus_per_node}g"


def identity(**known):
    return {"framework": "x", "model": "bert", "precision": "fp32", "sequence_length": 128, "micro_batch_size": 8,
            "gradient_accumulation_steps": 1, "nodes": 1, "gpus_per_node": 1, **known}


def key_of(known):
    axes = [f"+{axis}={value}" for axis, value in known.items() if axis not in identity()]
    return KEY.format(**known) + "".join(axes)


def trial(number, rate, **more):
    return {"trial": number, "attempt": 1, "log": "log.txt", "outcome": {"status": "completed"},
            "window": {"rule": "all", "chosen_by": "user", "covered": True},
            "sequences_per_second": rate, "estimator": "step_time", **more}


def cell(known, trials, key=None, **more):
    rates = [each["sequences_per_second"] for each in trials if "sequences_per_second" in each]
    throughput = {"unit": "sequences/s", "n": len(rates)}
    if rates:
        mean = statistics.mean(rates)
        throughput.update(median=statistics.median(rates), mean=mean)
    if len(rates) > 1:
        deviation = statistics.stdev(rates)
        throughput.update(stddev=deviation, cv=deviation / mean)
    return {"key": key or key_of(known), "identity": known, "kind": "training", "trials": trials,
            "throughput": throughput, **more}


def result_set(cells, commit="x", **more):
    return {"schema": "bertbench.result/1", "tool": {"version": "1", "commit": commit}, "cells": cells, **more}


def write(path, *args, **more):
    with open(path, "w") as out:
        json.dump(result_set(*args, **more), out)
    return path
