// The functions that benchmarks/site.py calls in a page of the site.
({
  run: async (program) => {
    while (!window.playground?.editor) await new Promise((done) => setTimeout(done, 2));
    const { playground } = window;
    playground.editor.text = program;
    await playground.run();
    return { seconds: performance.now() / 1000, text: playground.root.querySelector("#panel-output").innerText };
  },

  stop: async (program) => {
    const { playground } = window;
    playground.editor.text = program;
    const running = playground.run();
    await new Promise((done) => setTimeout(done, 500));
    const start = performance.now();
    playground.stopButton.click();
    await running;
    return performance.now() - start;
  },

  translate: async ([texts, beam]) => {
    const answers = [];
    for (const text of texts) {
      const start = performance.now();
      const { sentences } = await window.minigradAnswers("/translate", { text, beam });
      answers.push([sentences[0].text, (performance.now() - start) / 1000]);
    }
    return answers;
  },
})
