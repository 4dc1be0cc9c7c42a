// The page that plays a backward pass. At 0 nothing has run; then one step per node; at the end, the leaves.

(async () => {
  const data = await viz.data(), root = document.getElementById("playback");
  const panel = new GraphPanel(data, (key) => visit(Number(key.slice(1))));
  const { steps, nodes, values } = data;
  const last = steps.length + 1, stepOf = new Map(steps.map((step, i) => [step.node, i + 1]));
  const into = new Map(); // for each node or leaf: the gradients passed to it, in order
  steps.forEach((step) => step.deliveries.forEach((d) => {
    if (!into.has(d.target)) into.set(d.target, []);
    into.get(d.target).push({ ...d, from: step.node });
  }));
  const several = new Set(data.edges.filter(({ slot }) => slot).map(({ source }) => source)); // results
  const MOST = 100; // maximum terms of a sum to list
  let now = 0, timer = null;

  // Names and numbers

  const opOf = (node) => data.ops[node.op];
  const shape = (place) => (place === null ? "" : GraphPanel.shape(values[place]));
  const called = (id) => nodes[id].name || opOf(nodes[id])?.name || nodes[id].kind;
  const section = (id, title, ...content) => viz.el("section", { id }, viz.el("h2", {}, title), ...content);
  const quiet = (...text) => panel.quiet(...text);
  const aside = (...text) => panel.aside(...text);

  /** A gradient of one number; for more, its norm, or how many of its numbers are not finite. */
  function long(place) {
    const { shape: sizes, table } = values[place], { norm, wrong } = playbackDrawing.length(values[place]);
    if (!sizes.length && table && !wrong) return `g ${GraphPanel.number(table[0][0])}`;
    return wrong ? `${wrong} not finite` : `‖g‖ ${GraphPanel.number(norm)}`;
  }

  /** For an op with several results, which one it is. */
  const which = (id, slot, more = "") => (several.has(id) ? `result ${slot + 1}${more}` : "");

  function link(id) {
    if (!stepOf.has(id)) return viz.el("b", {}, called(id));
    return viz.el("button", { class: "link", type: "button", onclick: () => visit(id) }, called(id));
  }

  /** Go to a node's step; for a leaf, to the end. */
  function visit(id) { go(stepOf.get(id) ?? last); }

  // The drawing

  function box(id, label, state) {
    const node = nodes[id], op = opOf(node), go = stepOf.has(id) ? () => visit(id) : null;
    const what = node.kind !== "op" ? node.kind : op.name === called(id) ? "" : op.name;
    const told = [what, shape(node.value)].filter(Boolean).join(" · ");
    return { title: called(id), told, kind: node.kind, label, state, go };
  }

  function drawing(id) {
    const step = steps[stepOf.get(id) - 1], ran = stepOf.get(id) <= now, state = ran ? "done" : "wait";
    const label = (d) => `${d.input}: ${long(d.gradient)}`;
    const readers = (into.get(id) ?? []).map((d) => box(d.from, ran ? label(d) : "", state));
    const inputs = panel.into[id].map((edge) => {
      const given = step.deliveries.find((d) => d.input === edge.input && d.target === edge.source);
      const made = box(edge.source, given && ran ? label(given) : edge.input, given ? state : "none");
      const sum = given && ran && given.of > 1;
      return { ...made, note: sum ? `${given.count} of ${given.of} have arrived` : "" };
    });
    return playbackDrawing.draw(inputs, box(id, "", ""), readers, content.clientWidth);
  }

  // A step

  /** The key of an input's rule: "xs" for a variadic input, "backward" for a Function. */
  function keyOf(op, input) { return [input, input.split(" ")[0], "backward"].find((key) => op.rules[key]); }

  function source(about, { file, line, text }) {
    const place = viz.el("span", { class: "place" }, GraphPanel.at(file, line));
    return viz.el("div", { class: "rule" }, viz.el("p", {}, about, place), viz.el("pre", {}, text));
  }

  /** What the rule reads in addition to the gradient. */
  function kept(node) {
    const found = node.saved.filter((saved) => saved.name !== "kernel" && saved.node !== null);
    if (!found.length) return "";
    return viz.el("div", { class: "kept" }, found.map((saved) => {
      const { value } = nodes[saved.node], name = viz.el("code", {}, saved.name);
      const whose = saved.node === node.id ? "the result" : called(saved.node);
      return viz.el("details", {}, viz.el("summary", {}, name, `: ${whose} `, aside(shape(value))),
        panel.value(value, "its numbers are not known"));
    }));
  }

  /** Where gradients came from: one on a line, several as a list. */
  function sources(given) {
    const told = (d) => ["from ", link(d.from), `, input ${d.input}`];
    if (given.length === 1) return viz.el("p", { class: "quiet" }, told(given[0]));
    const item = (d) => viz.el("li", {}, told(d), aside(` ${long(d.gradient)}`));
    const left = given.length - MOST, more = left > 0 ? [viz.el("li", {}, aside(`and ${left} more`))] : [];
    return viz.el("ol", { class: "parts" }, given.slice(0, MOST).map(item), more);
  }

  function arrives(step) {
    const all = into.get(step.node) ?? [], parts = [];
    if (!all.length) {
      parts.push(quiet(`Backward begins here: the gradient of ${called(step.node)} for itself.`));
    }
    for (const [slot, place] of step.arrived) {
      const given = all.filter((d) => d.slot === slot);
      if (several.has(step.node)) parts.push(viz.el("h3", {}, which(step.node, slot)));
      if (given.length > 1) parts.push(quiet(`The sum of ${given.length}, in this order:`));
      if (given.length) parts.push(sources(given));
      parts.push(panel.value(place));
    }
    return section("arrives", "Arrives: g", ...parts, changed(step.node));
  }

  /** The program's hooks, as the gradient that arrives may differ from the one passed. */
  function changed(id) {
    const { hooks } = nodes[id].attributes;
    return hooks ? quiet("Hooks of the program have seen it, and may have changed it: ", hooks) : "";
  }

  function goesOut(d) {
    const parts = [panel.value(d.gradient)], waits = d.of - d.count, target = nodes[d.target];
    const complete = d.of > 1 ? "complete" : "complete: no other gradient comes";
    const state = waits ? `waits for ${waits} more` : complete;
    if (d.of > 1) {
      const count = viz.el("span", { class: "count" }, ` ${d.count} of ${d.of}`);
      parts.push(viz.el("h4", {}, "running sum at ", link(d.target), count),
        d.count === 1 ? quiet("the first: the sum is this gradient itself") : panel.value(d.total));
    }
    const kind = aside(target.kind === "op" ? "" : ` ${target.kind}`);
    return viz.el("div", { class: "out", "data-input": d.input },
      viz.el("h3", {}, viz.el("code", {}, d.input), ` → ${which(d.target, d.slot, " of ")}`,
        link(d.target), kind),
      ...parts,
      viz.el("p", { class: `quiet state${waits ? " waits" : ""}` }, state));
  }

  /** A node: its op, its result, its place, and how long its rules took. */
  function heading(step) {
    const node = nodes[step.node], op = opOf(node);
    const name = node.name && node.name !== op.name ? [aside(" makes "), node.name] : [];
    const facts = [node.module && `in ${node.module}`, node.place, GraphPanel.seconds(step.seconds)];
    return viz.el("header", { class: "what" },
      viz.el("h1", { id: "name", tabindex: -1 }, op.name, name), quiet(facts.filter(Boolean).join(" · ")),
      op.formula ? viz.el("p", { class: "formula" }, GraphPanel.prose(op.formula)) : "",
      node.code ? viz.el("pre", {}, node.code) : "");
  }

  /** The rules of outgoing gradients: formula, source, and (folded) the kernel; and what they read besides g. */
  function rulesOf(step) {
    const node = nodes[step.node], op = opOf(node), helpers = Object.values(op.helpers);
    const inputs = [...new Set(step.deliveries.map((d) => keyOf(op, d.input)))].filter(Boolean);
    const shown = inputs.flatMap((input) => [panel.derivative(op, input),
      source(input === "backward" ? "backward " : `∂ / ∂ ${input} `, op.rules[input])]);
    const folded = (title, sources) => (sources.length ? viz.el("details", {}, viz.el("summary", {}, title),
      sources.map((each) => source("", each))) : "");
    const missing = quiet(op.kernel ? "in its kernel" : "its source cannot be read");
    return section("rule", inputs.length > 1 ? "Rules" : "Rule", ...(shown.length ? shown : [missing]),
      folded("functions it calls", helpers), folded("its kernel", op.kernel ? [op.kernel] : []),
      settings(node, inputs.map((input) => op.rules[input].text).join(" ")), kept(node));
  }

  /** The non-tensor arguments, if the rules name them. */
  function settings(node, text) {
    const words = new Set(text.match(/\w+/g)), notes = ["backward", "checkpoint", "hooks", "names"];
    const given = Object.entries(node.attributes).filter(([name]) => !notes.includes(name));
    const told = ([name, value]) => viz.el("p", {}, viz.el("code", {}, `${name} = ${value}`));
    return given.filter(([name]) => words.has(name)).map(told);
  }

  function showStep(step) {
    const out = step.deliveries.length ? step.deliveries.map(goesOut) : [quiet("nothing")];
    return [heading(step), drawing(step.node), viz.el("div", { class: "columns" },
      viz.el("div", {}, arrives(step), rulesOf(step)), section("goes-out", "Goes out", ...out))];
  }

  // Before and after

  function showStart() {
    const name = called(data.output);
    const start = "There are no gradients yet, not even zeros.";
    return [
      viz.el("header", { class: "what" }, viz.el("h1", { id: "name", tabindex: -1 }, "Before the backward pass"),
        quiet(`${start} The backward pass will begin at ${name}.`)),
      drawing(data.output),
      section("value", name, panel.value(nodes[data.output].value, "its numbers are not known")),
    ];
  }

  function showEnd() {
    const leaves = [...into].filter(([id]) => nodes[id].kind !== "op").sort(([a], [b]) => a - b);
    const count = `${leaves.length} ${leaves.length === 1 ? "leaf" : "leaves"}`;
    return [
      viz.el("header", { class: "what" }, viz.el("h1", { id: "name", tabindex: -1 }, "The walk is over"),
        quiet(`The sums of ${count}: what backward() adds to their .grad.`)),
      viz.el("div", { id: "leaves" }, leaves.map(([id, given]) => leaf(id, given))),
    ];
  }

  /** A leaf's line; its parts are drawn when it is opened. */
  function leaf(id, given) {
    const told = viz.el("div"), { kind, gradient } = nodes[id];
    const fill = () => {
      if (!told.firstChild) told.append(sources(given), panel.value(gradient), changed(id));
    };
    return viz.el("details", { "data-leaf": id, ontoggle: fill }, viz.el("summary", {},
      viz.el("span", { class: "name" }, called(id)), aside(kind), aside(shape(gradient)),
      aside(given.length > 1 ? `sum of ${given.length}` : ""),
      viz.el("span", { class: "number" }, long(gradient))), told);
  }

  // The controls

  /** Go to a step by hand, which stops the playback. */
  const take = (to) => { pause(); go(to); };
  const button = (id, title, text, onclick) => (
    viz.el("button", { id, type: "button", title, "aria-label": title, onclick }, text));
  const slider = viz.el("input", {
    id: "step", type: "range", min: 0, max: last, value: 0, "aria-label": "step",
    oninput: () => take(Number(slider.value)),
  });
  const told = viz.el("output", { id: "at", for: "step", "aria-live": "polite" });
  const play = button("play", "play", "▶", () => (timer ? pause() : start()));
  const controls = [
    button("first", "before backward (Home)", "«", () => take(0)),
    button("back", "a step back (←)", "‹", () => take(now - 1)), play,
    button("on", "a step on (→)", "›", () => take(now + 1)),
    button("last", "the end (End)", "»", () => take(last)),
  ];
  const entry = (i, text, module) => viz.el("li", {},
    viz.el("button", { type: "button", "data-step": i, onclick: () => take(i) },
      viz.el("span", { class: "number" }, i && i < last ? i : ""), viz.el("span", { class: "text" }, text),
      viz.el("span", { class: "module", title: module }, viz.el("bdi", {}, module))));
  const entries = [entry(0, "no backward yet", ""),
    ...steps.map(({ node }, i) => entry(i + 1, opOf(nodes[node]).name, nodes[node].module)),
    entry(last, "the leaves", "")];
  const list = viz.el("ol", { id: "steps", "aria-label": "steps" }, entries);
  const content = viz.el("article", { id: "content" });

  function start() {
    if (now === last) go(0);
    timer = setInterval(() => { if (now < last) go(now + 1); if (now === last) pause(); }, 1200);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "pause");
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶";
    play.setAttribute("aria-label", "play");
  }

  function go(to) {
    now = Math.max(0, Math.min(to, last));
    slider.value = now;
    const middle = `step ${now} of ${steps.length}`;
    told.textContent = now === 0 ? "no backward yet" : now === last ? "the end" : middle;
    slider.setAttribute("aria-valuetext", told.textContent);
    document.getElementById("first").disabled = document.getElementById("back").disabled = now === 0;
    document.getElementById("on").disabled = document.getElementById("last").disabled = now === last;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    entries.forEach((each, i) => each.classList.toggle("ahead", i > now));
    entries[now].firstChild.setAttribute("aria-current", "step");
    const { offsetTop: top, offsetHeight: tall } = entries[now], { scrollTop, clientHeight } = list;
    const seen = top >= scrollTop && top + tall <= scrollTop + clientHeight;
    if (!seen) list.scrollTop = top - clientHeight / 2;
    const shown = now === 0 ? showStart() : now === last ? showEnd() : showStep(steps[now - 1]);
    const within = content.contains(document.activeElement);
    content.replaceChildren(...shown);
    if (within) document.getElementById("name").focus(); // so that it is not lost with the link that was followed
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) return;
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: last }[event.key];
    const presses = event.target.closest("button, summary, [role=button]"); // which the space bar presses
    if (to !== undefined) take(to);
    else if (event.key === " " && !presses) (timer ? pause : start)();
    else return;
    event.preventDefault();
  });

  const title = viz.el("strong", {}, "Backward of ", data.title);
  root.append(viz.el("div", { class: "bar top" }, title, controls, slider, told,
    viz.shortcuts([["← →", "a step back, a step on"], ["Home End", "before backward, the end"], ["Space", "play, pause"]]),
    viz.theme.button()),
    viz.el("div", { id: "body" }, list, content));
  go(0);
  root.dataset.ready = "yes";
})();
