"""The numbers of one process, and of several."""

from __future__ import annotations

import json

from deltaparse.gateway.metrics import Metrics, SharedNumbers


def counted(metrics):
    lines = [line for line in metrics.text().splitlines() if not line.startswith("#")]
    return {name: float(number) for name, _, number in (line.rpartition(" ") for line in lines)}


def measured(times):
    metrics = Metrics()
    for _ in range(times):
        metrics.requests.add("chat", "200")
        metrics.seconds.observe(value=0.2)
    metrics.open.add(by=times)
    metrics.held.set(10 * times)
    return metrics


def test_numbers_are_added_up(tmp_path):
    """Those of processes that ended too, but for what is true of now only."""
    own, living, ended = measured(1), measured(2), measured(4)
    (tmp_path / "1.json").write_text(json.dumps(living.dump()))
    (tmp_path / "999999999.json").write_text(json.dumps(ended.dump()))
    shared = SharedNumbers(tmp_path)
    shared.write(own)
    shared.write(own)
    assert len(list(tmp_path.iterdir())) == 3
    total = counted(shared.total(own))
    assert total['deltaparse_requests_total{protocol="chat",status="200"}'] == 7
    assert total['deltaparse_answer_seconds_bucket{le="0.1"}'] == 0
    assert total['deltaparse_answer_seconds_bucket{le="+Inf"}'] == 7
    assert total["deltaparse_answer_seconds_count"] == 7
    assert total["deltaparse_open_answers"] == 3
    assert total["deltaparse_held_characters"] == 30
    assert counted(own)["deltaparse_open_answers"] == 1


def test_labels_are_escaped():
    metrics = Metrics()
    metrics.issues.add('a"b\\c\nd')
    assert 'deltaparse_issues_total{kind="a\\"b\\\\c\\nd"} 1' in metrics.text()
