"""The vanishing gradient: what is left of it, layer by layer"""
#| graph: viz.graph(loss)
#| playback: viz.playback(lambda: loss_of(deep(nn.Sigmoid)))
#| explain: print(viz.explain(model[0].weight, depth=8))

import minigrad as mg
from minigrad import nn, viz

DEPTH, WIDTH = 10, 16
x = mg.randn(64, WIDTH)


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
    loss.backward()
    norms = [model[2 * i].weight.grad.norm().item() for i in range(DEPTH)]
    print(f"{activation.__name__:8} first layer {norms[0]:.1e}, last {norms[-1]:.1e}")
    for i, norm in enumerate(norms):
        print(f"  layer {i:2} {norm:.1e} {'#' * max(0, round(40 + 4 * mg.tensor(norm).log10().item()))}")
