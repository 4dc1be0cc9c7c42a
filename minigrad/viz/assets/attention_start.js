// Starts the attention page.

(async () => {
  const data = await viz.data();
  attention.digits = data.digits;
  const kinds = data.kinds.map((kind) => new attention.Kind(kind));
  const state = new attention.State(
    data.texts.map((text) => ({ ...text, kinds: text.kinds.map((place) => kinds[place]) })));
  const main = document.getElementById("attention");
  const choices = viz.el("div", { id: "choices" }), meaning = viz.el("p", { id: "meaning", class: "quiet" });
  const box = viz.el("section", { id: "view", "aria-label": "attention" });
  const told = viz.el("p", { id: "told", "aria-live": "polite" });
  const save = viz.el("button", { id: "save", type: "button", onclick: () => {
    const { kind, at, heads, view } = state;
    const names = heads.length === state.layer.heads ? "all" : heads.join("-");
    viz.saveSvg(box.querySelector("svg"), `${kind.kind}-layer-${at}-head-${names}-${view}.svg`);
  } }, "Save as SVG");
  const buttons = viz.el("span", { class: "bar last" }, save, viz.shortcuts([
    ["← → ↑ ↓", "in a picture: from word to word, cell to cell, head to head"], ["Home End", "the first, the last word"],
    ["Enter Space", "keep a word; of a cell, how its weight comes about"], ["Escape", "let it go"]]), viz.theme.button());
  main.append(viz.el("div", { class: "bar", id: "top" }, viz.el("h1", {}, data.title), buttons),
    choices, meaning, told, box);
  const bar = new attention.Bar(state, choices);
  state.draw = () => {
    const focus = document.activeElement?.id;
    if (state.view !== "model") state.last = state.view;
    bar.draw();
    const view = attention.views[state.view];
    save.hidden = !view.svg;
    meaning.textContent = state.kind.told(view.sides);
    view.draw(box, state, told);
    document.body.dataset.view = state.view;
    // The focused element has been redrawn, or has disappeared with its view.
    const again = focus && (document.getElementById(focus) ?? document.getElementById(`view-${state.view}`));
    if (again) again.focus({ preventScroll: true });
    viz.link.tell({ text: state.text });
  };
  viz.theme.changed(() => state.draw());
  let width = innerWidth; // the width that the layout is for
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    state.draw();
  });
  viz.link.heard(({ modules, look }) => {
    if (modules) state.set({ elsewhere: new Set(modules) });
    if (look) {
      const { number, at } = look;
      state.set({ number, at, view: state.view === "model" ? "heads" : state.view });
    }
  });
  state.draw();
  viz.link.tell({ ready: true, layers: state.layers });
})();
