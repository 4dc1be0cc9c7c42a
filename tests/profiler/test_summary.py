"""``minigrad.summary`` against manual counts, and that it does not change the model."""

from typing import Any

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from minigrad_models.gpt.gpt2 import GPT2, Config
from tests.support.cases import raises
from tests.support.engine import alive, changed, parts
from tests.support.transformers import sentences, small


def linear(rows: int, inputs: int, outputs: int) -> tuple[int, int]:
    """Parameters and multiply-adds of a linear layer."""
    return (inputs + 1) * outputs, rows * inputs * outputs


def attention(batch: int, length: int, width: int) -> tuple[int, int]:
    """Parameters and multiply-adds of self-attention: four projections, scores, and sums of values."""
    return 4 * (width + 1) * width, batch * (4 * length * width * width + 2 * length * length * width)


LAYERS: list[tuple[Any, tuple[int, ...], int, int]] = [  # a layer, its input, parameters, multiply-adds
    (nn.Linear(8, 16), (3, 5, 8), *linear(15, 8, 16)),
    (nn.Conv2d(4, 6, 3, padding=1, groups=2), (2, 4, 9, 7), 6 * 2 * 9 + 6, 2 * 6 * 9 * 7 * 2 * 9),
    (nn.Conv1d(3, 5, 4, stride=2, bias=False), (2, 3, 10), 5 * 3 * 4, 2 * 5 * 4 * 3 * 4),
    (nn.ConvTranspose2d(3, 8, 3), (2, 3, 5, 5), 3 * 8 * 9 + 8, 2 * 3 * 25 * 8 * 9),
    (nn.LSTM(4, 8), (5, 2, 4), 4 * 8 * (4 + 8 + 2), 5 * 2 * 4 * 8 * (4 + 8)),
    (nn.LSTM(4, 8, proj_size=3), (5, 2, 4), 4 * 8 * (4 + 3 + 2) + 3 * 8, 5 * 2 * (4 * 8 * (4 + 3) + 3 * 8)),
    (nn.GRU(4, 8, bidirectional=True), (5, 2, 4), 2 * 3 * 8 * (4 + 8 + 2), 2 * 5 * 2 * 3 * 8 * (4 + 8)),
    (
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
        (2, 5, 16),
        attention(2, 5, 16)[0] + 17 * 32 + 33 * 16 + 4 * 16,
        attention(2, 5, 16)[1] + 2 * 10 * 16 * 32,
    ),
]


def test_numbers_equal_the_formulas() -> None:
    for layer, shape, parameters, adds in LAYERS:
        table = mg.summary(layer, input_size=shape)
        for row in (table.total, table.root):
            assert (row.parameters, row.multiply_adds) == (parameters, adds), layer
        assert table.root.inputs == (shape,)
    for need_weights in (True, False):  # fused or not
        x = mg.randn(2, 5, 16)
        table = mg.summary(nn.MultiheadAttention(16, 4, batch_first=True), x, x, x, need_weights=need_weights)
        assert (table.total.parameters, table.total.multiply_adds) == attention(2, 5, 16)


def test_products_of_other_forms_and_modules_in_plain_lists_count() -> None:
    class Products(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(3, 3)]

        def forward(self, a: Any, b: Any) -> Any:
            a = a + self.layers[0](mg.ones(2, 3))[..., None]
            return mg.einsum("bij,bjk->bk", a, b).sum() + (a @ b).sum()  # i is summed before the first product

    table = mg.summary(Products(), mg.ones(2, 3, 4), mg.ones(2, 4, 5))
    assert table.total.parameters == 0 and table["Linear"].multiply_adds == 18
    assert table.total.multiply_adds == 18 + 2 * 4 * 5 + 2 * 3 * 4 * 5


def test_equal_layers_are_folded() -> None:
    config = Config(vocabulary=50, positions=8, d_model=8, heads=2, layers=12)
    model, t, d, layers, vocabulary = GPT2(config), 8, 8, 12, 50
    table = mg.summary(model, input_size=(1, t), dtypes=mg.int64)
    per_layer = attention(1, t, d)[1] + 2 * t * d * 4 * d
    assert table.total.multiply_adds == layers * per_layer + t * d * vocabulary
    assert table["layers.3"].multiply_adds == per_layer
    assert table["layers"].parameters == 12 * table["layers.0"].parameters
    text = table.text(110)
    assert "0 … 11" in text and "12 × TransformerLayer" in text and text.count("TransformerLayer") == 1


def test_shared_and_frozen_parameters() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
            self.second.weight, self.second.bias = self.first.weight, self.first.bias
            self.again = self.first

        def forward(self, x: Any) -> Any:
            return self.again(self.second(self.first(x)))

    table = mg.summary(Tied(), mg.ones(2, 4))
    first, second = table["first"], table["second"]
    assert table.total.parameters == table.root.parameters == first.parameters == 20
    assert (second.parameters, second.shared, first.calls, second.calls) == (0, True, 2, 1)
    assert table.root.multiply_adds == 3 * 2 * 16 and "shared" in table.text()
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    table = mg.summary(model, mg.ones(1, 3))
    assert (table.total.parameters, table.total.trainable, table["0"].trainable) == (26, 10, 0)
    for text in ("26 partly frozen", "16 frozen", "10 trainable and 16 frozen"):
        assert text in table.text()


def test_saved_memory_counts_each_array_once_without_parameters_and_inputs() -> None:
    class Cube(nn.Linear):
        def forward(self, x: Any) -> Any:
            h = F.linear(x, self.weight)  # saves its input and weight, which do not count
            return h * h * h.exp()  # saves h, h * h and the result of exp, once each

    table = mg.summary(Cube(10, 10, bias=False), mg.ones(5, 10))
    assert (table.total.kept, table.total.input_bytes) == (3 * 5 * 10 * 4, 5 * 10 * 4)
    with mg.no_grad():  # as in a training step, in any mode
        assert mg.summary(Cube(10, 10, bias=False), mg.ones(5, 10)).total.kept == table.total.kept
    assert mg.summary(nn.Linear(3, 3).requires_grad_(False), mg.ones(2, 3)).total.kept == 0


def test_the_model_is_unchanged() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    model[0].eval()
    mg.summary(model, input_size=(8, 4))  # lazily loaded modules are now loaded

    def state() -> list[Any]:
        return [mg.get_rng_state().tolist(), *((id(b), b.tolist(), b._changes[0]) for b in model.buffers())]

    before, numbers, living = parts(model), state(), alive()
    table = mg.summary(model, input_size=(8, 4))
    assert changed(before, parts(model)) == [] and alive() == living and table.root.calls == 1
    assert state() == numbers and all(p.grad is None for p in model.parameters())
    assert [module.training for module in model.modules()] == [True, False, True, True]
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(4, 2))
    before = parts(model)
    raises(RuntimeError, "linear", lambda: mg.summary(model, mg.ones(2, 3)))
    assert changed(before, parts(model)) == [] and model[0].num_batches_tracked.item() == 0


def test_inputs_can_be_passed_in_several_ways() -> None:
    model = nn.Bilinear(3, 4, 5)
    a, b = mg.ones(2, 3), mg.ones(2, 4)
    tables = [mg.summary(model, a, b), mg.summary(model, a, input2=b), mg.summary(model, input_size=[(2, 3), (2, 4)])]
    assert len({table.text(100) for table in tables}) == 1 and "(2, 3), (2, 4)" in tables[0].text(100)
    assert mg.summary(nn.Linear(3, 1), (2, 3)).root.outputs == ((2, 1),)
    bare = mg.summary(nn.Linear(3, 2))  # without inputs there are only parameters
    assert bare.root.calls is None and bare.total.parameters == 8
    assert "multiply-adds" not in bare.text() and "input" not in bare.text()


def test_mistakes_are_named() -> None:
    model = nn.Linear(3, 2)
    raises(TypeError, r"takes a module \(nn.Module\), not function", lambda: mg.summary(mg.ones, (2, 3)))
    raises(TypeError, "either inputs or input_size", lambda: mg.summary(model, mg.ones(2, 3), input_size=(2, 3)))
    raises(ValueError, "must be a shape", lambda: mg.summary(model, input_size=(2, -3)))
    raises(ValueError, "one for each of the 1 shapes", lambda: mg.summary(model, input_size=(2, 3), dtypes=["float"]))
    raises(ValueError, "depth must be", lambda: mg.summary(model, (2, 3), depth=-1))
    raises(KeyError, "no module 'x'", lambda: mg.summary(model, (2, 3))["x"])


def test_the_table_fits_the_width_and_has_the_levels_of_a_depth() -> None:
    whole, upper = mg.summary(small(), *sentences()), mg.summary(small(), *sentences(), depth=1)
    for width in (140, 100, 80, 60):
        table = whole.text(width).splitlines()
        assert max(map(len, table[:-4])) <= width and "parameters" in table[1]
    assert "output" in whole.text(100) and "class" not in whole.text(60)
    assert "attention" not in upper.text() and "attention" in whole.text()
    assert {row.depth for row in upper.rows} == {row.depth for row in whole.rows}  # all numbers are shown
