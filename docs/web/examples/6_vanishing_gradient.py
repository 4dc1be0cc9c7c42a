"""The vanishing gradient: its size, layer by layer"""
#| graph: viz.graph(loss)
#| playback: viz.playback(lambda: loss_of(deep(nn.Sigmoid)))
#| explain: print(viz.explain(model[0].weight, depth=8, run=True))

import minigrad as mg
from minigrad import nn, viz
from minigrad.viz.vector import Drawing

DEPTH, WIDTH = 10, 16
x = mg.randn(64, WIDTH)
norms = {}  # of each layer's weight gradient, by activation


def deep(activation):
    mg.manual_seed(0)
    layers = []
    for _ in range(DEPTH):
        layers += [nn.Linear(WIDTH, WIDTH), activation()]
    return nn.Sequential(*layers)


def loss_of(model):
    return model(x).square().mean()


for activation in (nn.Sigmoid, nn.Tanh, nn.ReLU):
    model = deep(activation)
    loss = loss_of(model)
    gradients = mg.autograd.grad(loss, [model[2 * i].weight for i in range(DEPTH)], retain_graph=True)
    norms[activation.__name__] = [gradient.norm().item() for gradient in gradients]
    print(f"{activation.__name__:8} first layer {gradients[0].norm():.1e}, last {gradients[-1].norm():.1e}")

chart = Drawing(440, 260, "The size of the gradient")
for i in range(DEPTH):
    chart.text(60 + 40 * i, 236, str(i), "middle")
for power in range(0, 14, 3):
    chart.line([(60, 10 + 16 * power), (420, 10 + 16 * power)], "#dddddd", 1)
    chart.text(52, 14 + 16 * power, f"1e-{power}", "end")
for (name, values), colour in zip(norms.items(), ("#8a1c17", "#2b7a4b", "#173f8a")):
    places = [(60 + 40 * i, 10 - 16 * mg.tensor(norm).log10().item()) for i, norm in enumerate(values)]
    chart.line(places, colour, 2)
    chart.text(64, places[0][1] - 6, name, colour=colour)
chart.text(60, 254, "layer, from the input; norm of its gradient")
display(chart)
