// The page of attention begins.

(async () => {
  const data = await viz.data();
  attention.digits = data.digits;
  const state = new attention.State(data.kinds.map((kind) => new attention.Kind(kind)));
  const main = document.getElementById("attention");
  const [choices, box] = [viz.el("div"), viz.el("section", { id: "view", "aria-label": "attention" })];
  const told = viz.el("p", { id: "told", "aria-live": "polite" });
  const save = viz.el("button", { id: "save", type: "button", onclick: () => {
    const { kind, at, heads, view } = state;
    const names = heads.length === state.layer.heads ? "all" : heads.join("-");
    viz.saveSvg(box.querySelector("svg"), `${kind.kind}-layer-${at}-head-${names}-${view}.svg`);
  } }, "Save as SVG");
  const buttons = viz.el("span", { class: "bar last" }, save, viz.theme.button());
  main.append(viz.el("div", { class: "bar" }, viz.el("h1", {}, data.title), buttons), choices, told, box);
  const bar = new attention.Bar(state, choices);
  state.draw = () => {
    const focus = document.activeElement?.id;
    if (state.view !== "model") state.last = state.view;
    bar.draw();
    save.hidden = !attention.views[state.view].svg;
    attention.views[state.view].draw(box, state, told);
    document.body.dataset.view = state.view;
    // What had the focus has been drawn again, or has gone with its view.
    const again = focus && (document.getElementById(focus) ?? document.getElementById(`view-${state.view}`));
    if (again) again.focus({ preventScroll: true });
  };
  viz.theme.changed(() => state.draw());
  state.draw();
})();
