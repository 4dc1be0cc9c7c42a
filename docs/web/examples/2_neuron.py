"""A neuron: weights, a bias, an activation, and a few steps downhill"""
#| graph: viz.graph(loss)
#| playback: viz.playback(lambda: loss_of(neuron))
#| explain: print(viz.explain(neuron.weight))

import minigrad as mg
from minigrad import nn, viz

mg.manual_seed(0)
x = mg.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
either = mg.tensor([[0.0], [1.0], [1.0], [1.0]])  # the logical "or"
neuron = nn.Linear(2, 1)


def loss_of(neuron):
    return nn.functional.binary_cross_entropy_with_logits(neuron(x), either)


for step in range(100):
    loss = loss_of(neuron)
    neuron.zero_grad()
    loss.backward()
    with mg.no_grad():
        for parameter in neuron.parameters():
            parameter -= 1.0 * parameter.grad

print("weights", neuron.weight.tolist(), "bias", neuron.bias.tolist())
print("answers", neuron(x).sigmoid().round(decimals=2).flatten().tolist())
