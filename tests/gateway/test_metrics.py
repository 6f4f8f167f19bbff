"""Metrics of one process, and of several."""

from __future__ import annotations

import os
import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from deltaparse.gateway.metrics import Metrics

COUNT = """
import sys
from deltaparse.gateway.metrics import Metrics

metrics, times = Metrics(), int(sys.argv[1])
for _ in range(times):
    metrics.requests.labels("chat", "200").inc()
    metrics.seconds.observe(0.2)
metrics.open.inc(times)
metrics.held.set(10 * times)
"""
SHOW = """
import sys
from deltaparse.gateway.metrics import Metrics, forget_process

metrics = Metrics()
print(metrics.text().decode(), end="\\0")
forget_process(int(sys.argv[1]))
print(metrics.text().decode())
"""


def counted(text):
    samples = [sample for one in text_string_to_metric_families(text) for sample in one.samples]
    return {(one.name, *one.labels.values()): one.value for one in samples}


def test_metrics_of_several_processes_are_summed(tmp_path):
    """Counters include ended processes, gauges do not."""

    def run(program, *args):
        env = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
        command = [sys.executable, "-c", program, *map(str, args)]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return process.pid, said

    run(COUNT, 3)
    gone, _ = run(COUNT, 4)
    all_of_them, total = map(counted, run(SHOW, gone)[1].split("\0"))
    assert all_of_them["deltaparse_held_characters",] == 70
    assert total["deltaparse_requests_total", "chat", "200"] == 7
    assert total["deltaparse_answer_seconds_bucket", "0.1"] == 0
    assert total["deltaparse_answer_seconds_bucket", "+Inf"] == 7
    assert total["deltaparse_answer_seconds_count",] == 7
    assert total["deltaparse_open_answers",] == 3
    assert total["deltaparse_held_characters",] == 30


def test_metrics_of_two_gateways_are_separate():
    one, other = Metrics(), Metrics()
    one.issues.labels('a"b\\c\nd').inc()
    assert b'deltaparse_issues_total{kind="a\\"b\\\\c\\nd"} 1.0' in one.text()
    assert b'd"}' not in other.text()
