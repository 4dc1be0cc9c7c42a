// What benchmarks/graph_page.py asks of a page: an object of functions.
({
  countClicks: () => {
    const { graph, opened } = graphView;
    const counts = graph.nodes.map(({ id }) => {
      let count = 1;
      graphView.opened = new Set(opened);
      for (let box = graphView.boxOf(id); box[0] === "g"; box = graphView.boxOf(id)) {
        const group = Number(box.slice(1));
        for (const each of [group, ...graph.groups[group].opens]) graphView.opened.add(each);
        count++;
      }
      return count;
    });
    graphView.opened = opened;
    return counts;
  },

  isInWindow: (key) => {
    const box = document.getElementById(`box-${key}`).getBoundingClientRect();
    const window = graphView.svg.getBoundingClientRect();
    return box.left >= window.left && box.right <= window.right && box.top >= window.top
      && box.bottom <= window.bottom;
  },
})
