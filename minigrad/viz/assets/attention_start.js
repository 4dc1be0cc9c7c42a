// The entry point of the attention page.

(async () => {
  const data = await viz.data();
  attention.digits = data.digits;
  const kinds = data.kinds.map((kind) => new attention.Kind(kind));
  const state = new attention.State(
    data.texts.map((text) => ({ ...text, kinds: text.kinds.map((place) => kinds[place]) })));
  const main = document.getElementById("attention");
  const choices = viz.el("div", { id: "choices" }), meaning = viz.el("p", { id: "meaning", class: "quiet" });
  const box = viz.el("section", { id: "view", "aria-label": "attention" });
  const status = viz.el("p", { id: "status", "aria-live": "polite" });
  const save = viz.el("button", { id: "save", type: "button", onclick: () => {
    const { kind, at, heads, view } = state;
    const names = heads.length === state.layer.heads ? "all" : heads.join("-");
    viz.saveSvg(box.querySelector("svg"), `${kind.kind}-layer-${at}-head-${names}-${view}.svg`);
  } }, "Save as SVG");
  const buttons = viz.el("span", { class: "bar last" }, save, viz.shortcuts([
    ["← → ↑ ↓", "in a picture: from word to word, cell to cell, head to head"], ["Home End", "the first, the last word"],
    ["Enter Space", "keep a word; of a cell, how its weight comes about"], ["Escape", "let it go"]]), viz.theme.button());
  main.append(viz.el("div", { class: "bar", id: "top" }, viz.el("h1", {}, data.title), buttons),
    choices, meaning, status, box);
  const bar = new attention.Bar(state, choices);
  state.draw = () => {
    const focus = document.activeElement?.id;
    if (state.view !== "model") state.last = state.view;
    bar.draw();
    const view = attention.views[state.view];
    save.hidden = !view.svg;
    meaning.textContent = state.kind.sides(view.sides);
    view.draw(box, state, status);
    document.body.dataset.view = state.view;
    // Restore the focus: its element was replaced, or removed with its view.
    const target = focus && (document.getElementById(focus) ?? document.getElementById(`view-${state.view}`));
    if (target) target.focus({ preventScroll: true });
    viz.link.send({ text: state.text });
  };
  viz.theme.onChange(() => state.draw());
  let width = innerWidth; // the viewport width of the current layout
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    state.draw();
  });
  viz.link.listen(({ modules, look }) => {
    if (modules) state.set({ graphModules: new Set(modules) });
    if (look) {
      const { number, at } = look;
      state.set({ number, at, view: state.view === "model" ? "heads" : state.view });
    }
  });
  state.draw();
  viz.link.send({ ready: true, layers: state.layers });
})();
