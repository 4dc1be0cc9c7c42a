// The layout of a graph's boxes and wires. Nothing here touches the DOM.
//
// Each open group is laid out by itself, from the inside out, in layers (Sugiyama, Tagawa and Toda 1981): ranks
// by longest path, order by barycentres, coordinates by weighted medians that isotonic regression keeps
// apart. A result is one wire, however many readers it has. It crosses a group's border at one port, and bends
// between ranks only.

const graphLayout = {
  GAP: 26, // between boxes of a rank
  RANK: 30, // between ranks, at least
  PAD: 16, // inside the border of a group
  TITLE: 26, // above its first rank
  SWEEPS: 12,

  /**
   * root: a group { key, children: [...], title: its width }; a child is a group or a box { key, width,
   * height, port: where wires meet it, from its middle to the right }; no wire runs back in their order.
   * wires: [{ source, target }], keys of boxes.
   * -> { width, height, boxes: Map of key -> { x, y, width, height }, groups: the same for open groups,
   *      wires: [{ source, targets: Set, points: [[x, y], ...], first, last }] }: a segment of a wire is a list of
   *      points, straight down within a rank and bent between two; `first` starts and `last` ends at a box.
   */
  run(root, wires) {
    const parents = new Map(), members = new Map();
    const walk = (group) => {
      members.set(group.key, group);
      for (const child of group.children) {
        parents.set(child.key, group.key);
        if (child.children) walk(child);
      }
    };
    walk(root);
    const links = new Map([...members.keys()].map((key) => [key, new Map()])); // by group, between its children
    const add = (group, from, to, source, target) => {
      const name = `${from} ${to} ${source}`, level = links.get(group);
      if (!level.has(name)) level.set(name, { from, to, source, targets: new Set() });
      level.get(name).targets.add(target);
    };
    const ancestors = (key) => { // the groups around a box, innermost first
      const list = [];
      for (let at = parents.get(key); at !== undefined; at = parents.get(at)) list.push(at);
      return list;
    };
    for (const { source, target } of wires) {
      const sources = ancestors(source), targets = new Set(ancestors(target));
      let from = source;
      for (const group of sources) {
        if (targets.has(group)) break;
        add(group, from, `out ${source}`, source, target);
        from = group;
      }
      const common = sources.find((group) => targets.has(group));
      let to = target;
      for (const group of ancestors(target)) {
        if (group === common) break;
        add(group, `in ${source}`, to, source, target);
        to = group;
      }
      add(common, from, to, source, target);
    }
    const place = new Map(); // each group's layout, relative to its corner
    const inside = (group) => {
      for (const child of group.children) if (child.children) inside(child);
      place.set(group.key, graphLayout.level(group, [...links.get(group.key).values()], place));
    };
    inside(root);
    return graphLayout.compose(root, place);
  },

  /** One group: its children, and ports where wires enter (rank 0) and leave (the last rank). */
  level(group, links, place) {
    const ports = (side, pick) => [...new Set(links.map(pick).filter((key) => key.startsWith(side)))]
      .map((key) => ({ key, width: 2, height: 0, side }));
    const items = [...ports("in ", (link) => link.from), ...group.children.map((child) => {
      const inner = place.get(child.key);
      return inner
        ? { key: child.key, width: inner.width, height: inner.height, inside: inner.ports }
        : { key: child.key, width: child.width, height: child.height, port: child.port };
    }), ...ports("out ", (link) => link.to)];
    const index = new Map(items.map((item, i) => [item.key, i]));
    const edges = links.map((link) => ({ ...link, from: index.get(link.from), to: index.get(link.to) }));
    const layers = graphLayout.ranks(items, edges);
    graphLayout.order(layers);
    graphLayout.across(layers);
    return graphLayout.down(group, layers);
  },

  /** Assign ranks, with a dummy vertex where a wire passes through one: [layers] of linked [vertices]. */
  ranks(items, edges) {
    const rank = items.map((item) => (item.side === "in " ? 0 : 1));
    const outgoing = items.map(() => []), incoming = items.map(() => []);
    for (const edge of edges) { outgoing[edge.from].push(edge); incoming[edge.to].push(edge); }
    const ins = items.some((item) => item.side === "in ");
    incoming.forEach((all, i) => { for (const edge of all) rank[i] = Math.max(rank[i], rank[edge.from] + 1); });
    const last = Math.max(...rank.filter((_, i) => items[i].side !== "out "), 0) + 1;
    items.forEach((item, i) => { if (item.side === "out ") rank[i] = last; });
    for (let i = items.length - 1; i >= 0; i--) { // items with more readers than inputs move close to their readers
      if (items[i].side || !outgoing[i].length || incoming[i].length >= outgoing[i].length) continue;
      rank[i] = Math.max(rank[i], Math.min(...outgoing[i].map((edge) => rank[edge.to])) - 1);
    }
    const least = ins ? 0 : 1;
    const layers = Array.from({ length: Math.max(...rank, 0) - least + 1 }, () => []);
    const vertices = items.map((item, i) => {
      const { width, height } = item;
      const vertex = { item, rank: rank[i] - least, width, height, up: [], down: [], turn: i };
      layers[vertex.rank].push(vertex);
      return vertex;
    });
    const offset = (item, side, source) => (
      item.inside ? item.inside.get(`${side}${source}`) ?? 0 : item.port ?? 0);
    const dummies = new Map();
    for (const edge of edges) {
      let above = vertices[edge.from];
      const below = vertices[edge.to];
      let ax = offset(above.item, "out ", edge.source);
      for (let r = above.rank + 1; r < below.rank; r++) {
        const name = `${edge.from} ${edge.source} ${r}`;
        let vertex = dummies.get(name);
        if (!vertex) {
          vertex = { item: null, rank: r, width: 2, height: 0, up: [], down: [], turn: above.turn };
          dummies.set(name, vertex);
          layers[r].push(vertex);
          graphLayout.link(above, vertex, ax, 0, edge);
        } else {
          const link = vertex.up[0];
          for (const target of edge.targets) link.targets.add(target);
        }
        above = vertex;
        ax = 0;
      }
      graphLayout.link(above, below, ax, offset(below.item, "in ", edge.source), edge);
    }
    return layers;
  },

  link(above, below, ax, bx, edge) {
    // higher weights keep chains and long wires straight
    const weight = above.item && below.item ? 4 : above.item || below.item ? 1.5 : 8;
    const segment = { above, below, ax, bx, weight, source: edge.source, targets: new Set(edge.targets) };
    above.down.push(segment);
    below.up.push(segment);
  },

  /** Order each rank by barycentre, sweeping down and up in turn; keep the order with the fewest crossings. */
  order(layers) {
    const number = () => layers.forEach((layer) => layer.forEach((vertex, i) => { vertex.place = i; }));
    layers.forEach((layer) => layer.sort((a, b) => a.turn - b.turn));
    number();
    const keep = () => layers.map((layer) => [...layer]);
    let best = keep(), fewest = graphLayout.crossings(layers);
    for (let sweep = 0; sweep < graphLayout.SWEEPS && fewest; sweep++) {
      const upward = sweep % 2 === 1;
      const turn = upward ? [...layers].reverse() : layers;
      for (const layer of turn) {
        for (const vertex of layer) {
          const near = upward ? vertex.down.map((l) => l.below.place + graphLayout.lean(l.bx, l.below))
            : vertex.up.map((l) => l.above.place + graphLayout.lean(l.ax, l.above));
          vertex.mean = near.length ? near.reduce((a, b) => a + b) / near.length : vertex.place;
        }
        layer.sort((a, b) => a.mean - b.mean || a.place - b.place);
        layer.forEach((vertex, i) => { vertex.place = i; });
      }
      const count = graphLayout.crossings(layers);
      if (count < fewest) { fewest = count; best = keep(); }
    }
    best.forEach((layer, r) => { layers[r] = layer; });
    number();
  },

  /** The offset of a wire from a vertex's middle, as a fraction of one place. */
  lean(x, vertex) { return vertex.width > 2 ? (0.9 * x) / vertex.width : 0; },

  /** The number of crossings between links. */
  crossings(layers) {
    let count = 0;
    for (const layer of layers) {
      const ends = layer.flatMap((vertex) => vertex.down.map((l) => [
        l.above.place + graphLayout.lean(l.ax, l.above), l.below.place + graphLayout.lean(l.bx, l.below)]));
      ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const lower = []; // ends of the links to the left, in order
      for (const [, end] of ends) {
        let place = 0;
        for (let after = lower.length; place < after;) {
          const middle = (place + after) >> 1;
          if (end < lower[middle]) after = middle; else place = middle + 1;
        }
        count += lower.length - place;
        lower.splice(place, 0, end);
      }
    }
    return count;
  },

  /** Assign x: each vertex as near to its neighbours as the vertices next to it allow. */
  across(layers) {
    for (const layer of layers) {
      let x = 0;
      layer.forEach((vertex, i) => { x = vertex.x = i ? x + graphLayout.separation(layer[i - 1], vertex) : 0; });
      for (const vertex of layer) vertex.x -= x / 2;
    }
    for (let sweep = 0; sweep < graphLayout.SWEEPS; sweep++) {
      const side = sweep === graphLayout.SWEEPS - 1 ? "both" : sweep % 2 ? "up" : "down";
      for (const layer of side === "up" ? [...layers].reverse() : layers) graphLayout.settle(layer, side);
    }
  },

  separation(a, b) {
    const boxes = (a.width > 2) + (b.width > 2); // the others are dummy vertices and ports
    return (a.width + b.width) / 2 + [10, 16, graphLayout.GAP][boxes];
  },

  /** Isotonic regression: minimize squared distances to preferred places, without overlap or reordering. */
  settle(layer, side) {
    const blocks = [];
    let shift = 0;
    layer.forEach((vertex, i) => {
      if (i) shift += graphLayout.separation(layer[i - 1], vertex);
      const up = side === "up" ? [] : vertex.up.map((l) => [l.above.x + l.ax - l.bx, l.weight]);
      const down = side === "down" ? [] : vertex.down.map((l) => [l.below.x + l.bx - l.ax, l.weight]);
      const near = [...up, ...down];
      const preferred = near.length ? graphLayout.median(near) : vertex.x;
      let block = { sum: 0, weight: near.reduce((sum, [, w]) => sum + w, 0) || 0.05, count: 1 };
      block.sum = (preferred - shift) * block.weight;
      while (blocks.length && blocks.at(-1).sum / blocks.at(-1).weight > block.sum / block.weight) {
        const before = blocks.pop();
        for (const part of ["sum", "weight", "count"]) block[part] += before[part];
      }
      blocks.push(block);
    });
    let i = 0;
    shift = 0;
    for (const block of blocks) {
      for (let k = 0; k < block.count; k++, i++) {
        if (i) shift += graphLayout.separation(layer[i - 1], layer[i]);
        layer[i].x = block.sum / block.weight + shift;
      }
    }
  },

  /** The weighted median of [[value, weight]]; between two where both halves weigh the same. */
  median(pairs) {
    const sorted = [...pairs].sort((a, b) => a[0] - b[0]);
    const half = sorted.reduce((sum, [, w]) => sum + w, 0) / 2;
    let sum = 0;
    for (let i = 0; i < sorted.length; i++) {
      sum += sorted[i][1];
      if (sum === half && i + 1 < sorted.length) return (sorted[i][0] + sorted[i + 1][0]) / 2;
      if (sum > half) return sorted[i][0];
    }
    return sorted.at(-1)[0];
  },

  /** Assign y to each rank, and route the wires between ranks, relative to the group's corner. */
  down(group, layers) {
    const { PAD, TITLE, RANK } = graphLayout;
    const all = layers.flat();
    const left = all.length ? Math.min(...all.map((v) => v.x - v.width / 2)) : 0;
    const right = all.length ? Math.max(...all.map((v) => v.x + v.width / 2)) : 0;
    const width = Math.max(right - left, group.title ?? 0) + 2 * PAD;
    const shift = (width - (right - left)) / 2 - left;
    const top = [], bottom = [];
    let y = layers[0]?.[0]?.item?.side === "in " ? 0 : TITLE;
    layers.forEach((layer, r) => {
      top[r] = y;
      bottom[r] = y + Math.max(...layer.map((vertex) => vertex.height));
      const span = ({ above, below, ax, bx }) => Math.abs(above.x + ax - below.x - bx);
      const spans = layer.flatMap((vertex) => vertex.down.map(span));
      y = bottom[r] + RANK + Math.min(40, 0.09 * Math.max(...spans, 0));
      if (r === 0 && top[0] === 0) y = Math.max(y, TITLE + 8);
    });
    const ends = layers.length && layers.at(-1).some((vertex) => vertex.item?.side === "out ");
    const height = (layers.length ? bottom.at(-1) : TITLE) + (ends ? 0 : PAD);
    const boxes = [], wires = [];
    const ports = new Map();
    for (const vertex of all) {
      const x = vertex.x + shift;
      const middle = (top[vertex.rank] + bottom[vertex.rank]) / 2;
      vertex.top = vertex.item ? middle - vertex.height / 2 : top[vertex.rank];
      vertex.bottom = vertex.item ? middle + vertex.height / 2 : bottom[vertex.rank];
      if (vertex.item?.side) ports.set(vertex.item.key, x - width / 2);
      else if (vertex.item) {
        const { item, width: wide, height: tall } = vertex;
        boxes.push({ key: item.key, x: x - wide / 2, y: vertex.top, width: wide, height: tall });
      }
    }
    for (const vertex of all) {
      for (const l of vertex.down) {
        const ax = l.above.x + l.ax + shift, bx = l.below.x + l.bx + shift;
        const points = [[ax, l.above.item ? l.above.bottom : top[l.above.rank]],
          [ax, bottom[l.above.rank]], [bx, top[l.below.rank]], [bx, l.below.top]];
        wires.push({ source: l.source, targets: l.targets, points,
          first: Boolean(l.above.item && !l.above.item.side && !l.above.item.inside),
          last: Boolean(l.below.item && !l.below.item.side && !l.below.item.inside) });
      }
    }
    return { width, height, boxes, wires, ports };
  },

  /** Combine all groups, with absolute coordinates. */
  compose(root, place) {
    const boxes = new Map(), groups = new Map(), wires = [];
    const put = (group, x, y) => {
      const own = place.get(group.key);
      groups.set(group.key, { x, y, width: own.width, height: own.height });
      for (const wire of own.wires) {
        wires.push({ ...wire, points: wire.points.map(([px, py]) => [px + x, py + y]) });
      }
      const inner = new Map(group.children.map((child) => [child.key, child]));
      for (const box of own.boxes) {
        const child = inner.get(box.key);
        if (child.children) put(child, box.x + x, box.y + y);
        else boxes.set(box.key, { ...box, x: box.x + x, y: box.y + y });
      }
    };
    put(root, 0, 0);
    const own = place.get(root.key);
    return { width: own.width, height: own.height, boxes, groups, wires };
  },
};
