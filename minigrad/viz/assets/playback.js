// The playback page of a backward pass: step 0 is before it, then one step per node, and at the end the leaves.

(async () => {
  const data = await viz.data(), root = document.getElementById("playback");
  const panel = new GraphPanel(data, (key) => visit(Number(key.slice(1))));
  const { steps, nodes, values } = data;
  const last = steps.length + 1, stepOf = new Map(steps.map((step, i) => [step.node, i + 1]));
  const incoming = new Map(); // by node or leaf: the gradients passed to it, in order
  steps.forEach((step) => step.deliveries.forEach((d) => {
    if (!incoming.has(d.target)) incoming.set(d.target, []);
    incoming.get(d.target).push({ ...d, from: step.node });
  }));
  const several = new Set(data.edges.filter(({ slot }) => slot).map(({ source }) => source)); // with several results
  const MOST = 100; // maximum terms of a sum to list
  let now = 0, timer = null;

  // Names and numbers

  const opOf = (node) => data.ops[node.op];
  const shape = (place) => (place === null ? "" : GraphPanel.shape(values[place]));
  const nameOf = (id) => nodes[id].name || opOf(nodes[id])?.name || nodes[id].kind;
  const section = (id, title, ...content) => viz.el("section", { id }, viz.el("h2", {}, title), ...content);
  const quiet = (...text) => panel.quiet(...text);
  const aside = (...text) => panel.aside(...text);

  /** A scalar gradient as its value; others as the norm, or the number of non-finite elements. */
  function gradientText(place) {
    const { shape: sizes, table } = values[place], { norm, wrong } = playbackDrawing.length(values[place]);
    if (!sizes.length && table && !wrong) return `g ${GraphPanel.number(table[0][0])}`;
    return wrong ? `${wrong} not finite` : `‖g‖ ${GraphPanel.number(norm)}`;
  }

  /** For an op with several results, which one it is. */
  const resultName = (id, slot, more = "") => (several.has(id) ? `result ${slot + 1}${more}` : "");

  function link(id) {
    if (!stepOf.has(id)) return viz.el("b", {}, nameOf(id));
    return viz.el("button", { class: "link", type: "button", onclick: () => visit(id) }, nameOf(id));
  }

  /** Go to a node's step; for a leaf, to the end. */
  function visit(id) { go(stepOf.get(id) ?? last); }

  // The drawing

  function box(id, label, state) {
    const node = nodes[id], op = opOf(node), go = stepOf.has(id) ? () => visit(id) : null;
    const what = node.kind !== "op" ? node.kind : op.name === nameOf(id) ? "" : op.name;
    const detail = [what, shape(node.value)].filter(Boolean).join(" · ");
    return { title: nameOf(id), detail, kind: node.kind, label, state, go };
  }

  function drawing(id) {
    const step = steps[stepOf.get(id) - 1], done = stepOf.get(id) <= now, state = done ? "done" : "wait";
    const label = (d) => `${d.input}: ${gradientText(d.gradient)}`;
    const readers = (incoming.get(id) ?? []).map((d) => box(d.from, done ? label(d) : "", state));
    const inputs = panel.incoming[id].map((edge) => {
      const delivery = step.deliveries.find((d) => d.input === edge.input && d.target === edge.source);
      const input = box(edge.source, delivery && done ? label(delivery) : edge.input, delivery ? state : "none");
      const sum = delivery && done && delivery.of > 1;
      return { ...input, note: sum ? `${delivery.count} of ${delivery.of} have arrived` : "" };
    });
    return playbackDrawing.draw(inputs, box(id, "", ""), readers, content.clientWidth);
  }

  // A step

  /** The key of an input's rule: "xs" for a variadic input, "backward" for a Function. */
  function keyOf(op, input) { return [input, input.split(" ")[0], "backward"].find((key) => op.rules[key]); }

  function source(about, { file, line, text }) {
    const place = viz.el("span", { class: "place" }, GraphPanel.location(file, line));
    return viz.el("div", { class: "rule" }, viz.el("p", {}, about, place), viz.el("pre", {}, text));
  }

  /** The saved tensors that the rule reads in addition to the gradient. */
  function savedValues(node) {
    const tensors = node.saved.filter((saved) => saved.name !== "kernel" && saved.node !== null);
    if (!tensors.length) return "";
    return viz.el("div", { class: "saved-values" }, tensors.map((saved) => {
      const { value } = nodes[saved.node], name = viz.el("code", {}, saved.name);
      const owner = saved.node === node.id ? "the result" : nameOf(saved.node);
      return viz.el("details", {}, viz.el("summary", {}, name, `: ${owner} `, aside(shape(value))),
        panel.value(value, "its numbers are not known"));
    }));
  }

  /** The sources of gradients: a single one as a line, several as a list. */
  function sources(deliveries) {
    const describe = (d) => ["from ", link(d.from), `, input ${d.input}`];
    if (deliveries.length === 1) return viz.el("p", { class: "quiet" }, describe(deliveries[0]));
    const item = (d) => viz.el("li", {}, describe(d), aside(` ${gradientText(d.gradient)}`));
    const left = deliveries.length - MOST, more = left > 0 ? [viz.el("li", {}, aside(`and ${left} more`))] : [];
    return viz.el("ol", { class: "parts" }, deliveries.slice(0, MOST).map(item), more);
  }

  function arrives(step) {
    const all = incoming.get(step.node) ?? [], parts = [];
    if (!all.length) {
      parts.push(quiet(`Backward begins here: the gradient of ${nameOf(step.node)} for itself.`));
    }
    for (const [slot, place] of step.arrived) {
      const deliveries = all.filter((d) => d.slot === slot);
      if (several.has(step.node)) parts.push(viz.el("h3", {}, resultName(step.node, slot)));
      if (deliveries.length > 1) parts.push(quiet(`The sum of ${deliveries.length}, in this order:`));
      if (deliveries.length) parts.push(sources(deliveries));
      parts.push(panel.value(place));
    }
    return section("arrives", "Arrives: g", ...parts, hookNote(step.node));
  }

  /** A note on the program's hooks, which may have changed the gradient. */
  function hookNote(id) {
    const { hooks } = nodes[id].attributes;
    return hooks ? quiet("Hooks of the program have seen it, and may have changed it: ", hooks) : "";
  }

  function outgoing(d) {
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
      viz.el("h3", {}, viz.el("code", {}, d.input), ` → ${resultName(d.target, d.slot, " of ")}`,
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

  /** The rules of outgoing gradients: formula, source, and (collapsed) the kernel; and what else they read. */
  function rulesOf(step) {
    const node = nodes[step.node], op = opOf(node), helpers = Object.values(op.helpers);
    const inputs = [...new Set(step.deliveries.map((d) => keyOf(op, d.input)))].filter(Boolean);
    const rules = inputs.flatMap((input) => [panel.derivative(op, input),
      source(input === "backward" ? "backward " : `∂ / ∂ ${input} `, op.rules[input])]);
    const collapsible = (title, sources) => (sources.length ? viz.el("details", {}, viz.el("summary", {}, title),
      sources.map((each) => source("", each))) : "");
    const missing = quiet(op.kernel ? "in its kernel" : "its source cannot be read");
    return section("rule", inputs.length > 1 ? "Rules" : "Rule", ...(rules.length ? rules : [missing]),
      collapsible("functions it calls", helpers), collapsible("its kernel", op.kernel ? [op.kernel] : []),
      settings(node, inputs.map((input) => op.rules[input].text).join(" ")), savedValues(node));
  }

  /** The non-tensor arguments, if the rules name them. */
  function settings(node, text) {
    const words = new Set(text.match(/\w+/g)), notes = ["backward", "checkpoint", "hooks", "names"];
    const options = Object.entries(node.attributes).filter(([name]) => !notes.includes(name));
    const line = ([name, value]) => viz.el("p", {}, viz.el("code", {}, `${name} = ${value}`));
    return options.filter(([name]) => words.has(name)).map(line);
  }

  function showStep(step) {
    const out = step.deliveries.length ? step.deliveries.map(outgoing) : [quiet("nothing")];
    return [heading(step), drawing(step.node), viz.el("div", { class: "columns" },
      viz.el("div", {}, arrives(step), rulesOf(step)), section("goes-out", "Goes out", ...out))];
  }

  // Before and after

  function showStart() {
    const name = nameOf(data.output);
    const start = "There are no gradients yet, not even zeros.";
    return [
      viz.el("header", { class: "what" }, viz.el("h1", { id: "name", tabindex: -1 }, "Before the backward pass"),
        quiet(`${start} The backward pass will begin at ${name}.`)),
      drawing(data.output),
      section("value", name, panel.value(nodes[data.output].value, "its numbers are not known")),
    ];
  }

  function showEnd() {
    const leaves = [...incoming].filter(([id]) => nodes[id].kind !== "op").sort(([a], [b]) => a - b);
    const count = `${leaves.length} ${leaves.length === 1 ? "leaf" : "leaves"}`;
    return [
      viz.el("header", { class: "what" }, viz.el("h1", { id: "name", tabindex: -1 }, "The walk is over"),
        quiet(`The sums of ${count}: what backward() adds to their .grad.`)),
      viz.el("div", { id: "leaves" }, leaves.map(([id, deliveries]) => leaf(id, deliveries))),
    ];
  }

  /** A leaf's row; its content is rendered when opened. */
  function leaf(id, deliveries) {
    const body = viz.el("div"), { kind, gradient } = nodes[id];
    const fill = () => {
      if (!body.firstChild) body.append(sources(deliveries), panel.value(gradient), hookNote(id));
    };
    return viz.el("details", { "data-leaf": id, ontoggle: fill }, viz.el("summary", {},
      viz.el("span", { class: "name" }, nameOf(id)), aside(kind), aside(shape(gradient)),
      aside(deliveries.length > 1 ? `sum of ${deliveries.length}` : ""),
      viz.el("span", { class: "number" }, gradientText(gradient))), body);
  }

  // The controls

  /** Go to a step on user input, which pauses the playback. */
  const take = (to) => { pause(); go(to); };
  const button = (id, title, text, onclick) => (
    viz.el("button", { id, type: "button", title, "aria-label": title, onclick }, text));
  const slider = viz.el("input", {
    id: "step", type: "range", min: 0, max: last, value: 0, "aria-label": "step",
    oninput: () => take(Number(slider.value)),
  });
  const position = viz.el("output", { id: "at", for: "step", "aria-live": "polite" });
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
    position.textContent = now === 0 ? "no backward yet" : now === last ? "the end" : middle;
    slider.setAttribute("aria-valuetext", position.textContent);
    document.getElementById("first").disabled = document.getElementById("back").disabled = now === 0;
    document.getElementById("on").disabled = document.getElementById("last").disabled = now === last;
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    entries.forEach((each, i) => each.classList.toggle("ahead", i > now));
    entries[now].firstChild.setAttribute("aria-current", "step");
    const { offsetTop: top, offsetHeight: tall } = entries[now], { scrollTop, clientHeight } = list;
    const visible = top >= scrollTop && top + tall <= scrollTop + clientHeight;
    if (!visible) list.scrollTop = top - clientHeight / 2;
    const parts = now === 0 ? showStart() : now === last ? showEnd() : showStep(steps[now - 1]);
    const within = content.contains(document.activeElement);
    content.replaceChildren(...parts);
    if (within) document.getElementById("name").focus(); // keep the focus when the clicked link is removed
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) return;
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: last }[event.key];
    const presses = event.target.closest("button, summary, [role=button]"); // the space bar activates them
    if (to !== undefined) take(to);
    else if (event.key === " " && !presses) (timer ? pause : start)();
    else return;
    event.preventDefault();
  });

  const title = viz.el("strong", {}, "Backward of ", data.title);
  root.append(viz.el("div", { class: "bar top" }, title, controls, slider, position,
    viz.shortcuts([["← →", "a step back, a step on"], ["Home End", "before backward, the end"], ["Space", "play, pause"]]),
    viz.theme.button()),
    viz.el("div", { id: "body" }, list, content));
  go(0);
  root.dataset.ready = "yes";
})();
