"""The tables: by name, by module, by op."""

from functools import partial

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.profiler import profile, record_function
from minigrad.profiler.averages import SORT_KEYS, Breakdown, EventList, Row
from minigrad.profiler.table import format_bytes, format_count, format_share, format_table, format_time
from tests.support.cases import raises


@pytest.fixture(scope="module")
def finished() -> profile:
    """A profile of a two-level model, with everything recorded."""
    inner = nn.Sequential(nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
    net = nn.Sequential(nn.Linear(4, 8), inner, nn.Linear(8, 2))
    optimizer = mg.optim.SGD(net.parameters(), lr=0.1)
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as p:
        for size in (3, 5):
            loss = net(mg.randn(size, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
    return p


def test_averages_sum_events_of_the_same_name(finished: profile) -> None:
    averages = {average.key: average for average in finished.key_averages()}
    linear = [event for event in finished.events() if event.name == "linear"]
    row = averages["linear"]
    assert row.count == len(linear) == 6
    for time in ("cpu_time_total", "self_cpu_time_total"):
        assert getattr(row, time) == pytest.approx(sum(getattr(event, time) for event in linear), rel=1e-12)
    assert row.cpu_time == row.cpu_time_total / 6
    assert (row.bytes, row.flops) == (4 * (3 + 5) * (8 + 8 + 2), 2 * (3 + 5) * (4 * 8 + 8 * 8 + 8 * 2))
    assert averages["LinearBackward0"].phase == "backward"
    assert averages["nn.Module: Sequential"].count == 4 and averages["nn.Module: Linear"].count == 6
    whole = sum(average.self_cpu_time_total for average in averages.values())
    assert whole == pytest.approx(finished.events().self_cpu_time_total, rel=1e-12)


def test_averages_by_shape_and_by_stack(finished: profile) -> None:
    by_shape = [a for a in finished.key_averages(group_by_input_shape=True) if a.key == "linear"]
    assert len(by_shape) == 6
    assert [[3, 4], [8, 4], [8]] in [average.input_shapes for average in by_shape]
    by_line = [a for a in finished.key_averages(group_by_stack_n=1) if a.key == "linear"]
    assert len(by_line) == 1 and by_line[0].count == 6
    assert len(by_line[0].stack) == 1 and by_line[0].stack[0].startswith(__file__)
    total, events = finished.total_average(), finished.events()
    assert (total.count, total.bytes) == (len(events), sum(event.bytes for event in events))
    assert total.self_cpu_time_total == pytest.approx(finished.events().self_cpu_time_total, rel=1e-12)


def test_a_table_is_sorted_by_the_given_column(finished: profile) -> None:
    averages = finished.key_averages()
    for key in SORT_KEYS:
        lines = averages.table(sort_by=key, row_limit=4).splitlines()[3:-2]
        values = [getattr(next(a for a in averages if a.key == line.split("  ")[0]), key) for line in lines]
        assert len(values) == 4
        assert values == sorted((getattr(average, key) for average in averages), reverse=True)[:4], key
    expected = averages.table(sort_by="self_cpu_time_total")
    for name in ("self_cuda_time_total", "self_device_time_total"):  # PyTorch's names sort by the time
        assert averages.table(sort_by=name) == expected
    assert averages[0].device_time_total == averages[0].cpu_time_total
    assert averages[0].cpu_time_total_str == format_time(averages[0].cpu_time_total)


def test_columns_show_only_recorded_data(finished: profile) -> None:
    head = [text.strip() for text in finished.key_averages().table().splitlines()[1].split("  ") if text.strip()]
    assert head == [
        *("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"),
        *("CPU Mem", "Self CPU Mem", "Bytes", "Total FLOPs", "# of Calls"),
    ]
    every = finished.key_averages(group_by_input_shape=True, group_by_stack_n=2).table().splitlines()[1]
    assert "Input Shapes" in every and "Source Location" in every
    with profile() as p, record_function("data"):
        mg.ones(3) + 1
    assert "Mem" not in p.key_averages().table() and "FLOPs" not in p.key_averages().table()
    (row,) = p.by_module()  # events outside of modules are listed under their mark
    assert row.key == "[data]" and row.forward == row.total > 0


def test_a_table_takes_pytorchs_arguments(finished: profile) -> None:
    averages = finished.key_averages()
    text = averages.table(row_limit=2, max_name_column_width=8, header="mine", time_unit="s")
    lines = text.splitlines()
    assert lines[0] == "mine" and len(lines) == 4 + 2 + 2
    assert all(len(line.split("  ")[0]) <= 8 for line in lines[4:6])
    assert "ms" not in text and "us" not in text
    assert str(averages) == averages.table()
    outer = finished.events().table(top_level_events_only=True, row_limit=-1).splitlines()[3:-2]
    assert len(outer) == sum(event.cpu_parent is None for event in finished.events())


def test_modules_add_up_to_any_depth(finished: profile) -> None:
    rows = {row.key: row for row in finished.by_module()}
    top, inner = rows["Sequential"], rows["Sequential.1"]
    assert top.calls == inner.calls == rows["Sequential.1.0"].calls == 2
    assert [key.removeprefix("Sequential") for key in rows][:6] == ["", ".0", ".1", ".1.0", ".1.1", ".1.2"]
    for column in ("forward", "backward", "total"):
        own = [getattr(row, f"self_{column}") for key, row in rows.items() if key.startswith("Sequential")]
        assert getattr(top, column) == pytest.approx(sum(own), rel=1e-12)
        lower = sum(getattr(rows[f"Sequential.1.{i}"], column) for i in range(3))
        assert getattr(inner, column) == pytest.approx(lower + getattr(inner, f"self_{column}"), rel=1e-12)
    assert top.bytes > inner.bytes > rows["Sequential.1.0"].bytes > 0
    whole = sum(row.self_total for row in rows.values())
    assert whole == pytest.approx(finished.events().self_cpu_time_total, rel=1e-12)
    step = rows["[Optimizer.step#SGD.step]"]
    assert step.total > 0 and step.forward == step.backward == 0
    assert rows["[no module]"].forward > 0 and rows["[no module]"].backward > 0

    rows = {row.key: row for row in finished.by_module(depth=1)}
    assert [key.removeprefix("Sequential") for key in rows if "[" not in key] == ["", ".0", ".1", ".2"]
    cut = rows["Sequential.1"]
    assert cut.self_backward > 0 and cut.calls == 2 and cut.total == pytest.approx(inner.total, rel=1e-12)


def test_tables_of_modules_are_sorted_and_cut(finished: profile) -> None:
    modules = finished.by_module()
    lines = modules.table(sort_by="self_backward", row_limit=2).splitlines()
    best = sorted(modules, key=lambda row: row.self_backward, reverse=True)[:2]
    assert [line.split("  ")[0] for line in lines[3:5]] == [row.key for row in best] and len(lines) == 7
    assert "Kept" in lines[1] and "Self forward" in lines[1]
    assert str(modules) == modules.table()


def test_the_text_of_a_breakdown() -> None:
    rows = [Row("Net", 1, 3000.0, 1000.0, 0.0, 0.0, 3000.0, 1000.0, 4096), Row("Net.a", 2, self_total=2000.0)]
    text = Breakdown(rows, 4000.0, False).table(time_unit="ms", header="A net")
    assert text == (
        "A net\n"
        "------  -----  -------  ------------  --------  -------------  -------  -------  -------\n"
        "Module  Calls  Forward  Self forward  Backward  Self backward    Total  Total %    Bytes\n"
        "------  -----  -------  ------------  --------  -------------  -------  -------  -------\n"
        "Net         1  3.000ms       1.000ms        --             --  3.000ms  100.00%  4.00 KB\n"
        "Net.a       2       --            --        --             --       --    0.00%      0 B\n"
        "------  -----  -------  ------------  --------  -------------  -------  -------  -------\n"
        "Time of all events: 3.000ms of the 4.000ms that the profile was on\n"
    )


def test_numbers_as_text() -> None:
    assert [format_time(us) for us in (0.5, 1500, 2.5e6)] == ["0.500us", "1.500ms", "2.500s"]
    assert format_time(1500, "us") == "1500.000us"
    assert [format_bytes(n) for n in (0, -20, 1536)] == ["0 B", "-20 B", "1.50 KB"]
    assert [format_bytes(n) for n in (3 << 20, -(1 << 30))] == ["3.00 MB", "-1.00 GB"]
    assert [format_count(n) for n in (0, 12, 1_500_000)] == ["--", "12.000", "1.500 M"]
    assert [format_share(1, 3), format_share(1, 0)] == ["33.33%", "--"]
    assert format_table(["a"], []) == "-\na\n-\n-\n"


def test_wrong_arguments_are_refused(finished: profile) -> None:
    for table in (finished.key_averages().table, finished.by_module().table):
        raises(ValueError, r"table by 'speed': sort_by must be one of .*total", partial(table, sort_by="speed"))
        raises(ValueError, "time_unit must be 's', 'ms', 'us' or None, not 'h'", partial(table, time_unit="h"))
    raises(AttributeError, "no attribute 'speed'", lambda: finished.key_averages()[0].speed)


def test_a_profile_of_nothing() -> None:
    with profile() as p:
        pass
    assert p.events() == [] and p.key_averages() == [] and p.by_module() == []
    assert "Self CPU time total: 0.000us" in p.key_averages().table()
    assert p.by_module().table().endswith("that the profile was on\n")
    assert EventList().total_average().count == 0
