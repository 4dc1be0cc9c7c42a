"""An MLP on two moons: the decision boundary moves as it trains"""
#| graph: viz.graph(loss)
#| playback: viz.playback(lambda: loss_of(model))
#| explain: print(viz.explain(model[0].weight))

import minigrad as mg
from minigrad import nn, viz

mg.manual_seed(0)
angle = mg.rand(200) * 3.1416
upper = mg.stack([angle.cos(), angle.sin()], 1)
lower = mg.stack([1 - angle.cos(), 0.5 - angle.sin()], 1)
x = mg.cat([upper, lower]) + 0.1 * mg.randn(400, 2)
y = mg.cat([mg.zeros(200), mg.ones(200)])[:, None]

model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
adam = mg.optim.Adam(model.parameters(), lr=0.02)


def loss_of(model):
    return nn.functional.binary_cross_entropy_with_logits(model(x), y)


class Boundary:
    """The model's prediction at each place, and the training points."""

    def __init__(self, model, cells=30):
        at = (mg.arange(cells) + 0.5) / cells
        places = mg.cartesian_prod(at * 4 - 1.5, at * 3 - 1.2)
        with mg.no_grad():
            self.says = model(places).sigmoid().reshape(cells, cells).tolist()
        self.cells = cells

    def _repr_svg_(self):
        size = 360 / self.cells
        parts = []
        for i, column in enumerate(self.says):
            for j, p in enumerate(column):
                red, blue = 255 - round(110 * p), 145 + round(110 * p)
                place = f'x="{i * size:.1f}" y="{360 - (j + 1) * size:.1f}"'
                parts.append(f'<rect {place} width="{size + 0.5}" height="{size + 0.5}" fill="rgb({red},190,{blue})"/>')
        for (a, b), (label,) in zip(x.tolist(), y.tolist()):
            place = f'cx="{(a + 1.5) / 4 * 360:.1f}" cy="{360 - (b + 1.2) / 3 * 360:.1f}"'
            parts.append(f'<circle {place} r="3" fill="{"#173f8a" if label else "#8a1c17"}"/>')
        inside = "".join(parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 360" width="360" height="360">{inside}</svg>'


picture = display(Boundary(model), display_id=True)
for step in range(200):
    loss = loss_of(model)
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 10 == 9:
        picture.update(Boundary(model))
right = ((model(x) > 0) == (y > 0.5)).float().mean()
print(f"{100 * right.item():.1f}% of the points are on the right side")
