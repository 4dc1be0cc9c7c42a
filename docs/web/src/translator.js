// The translator's page, in a frame with this page's height.

const root = document.getElementById("translator");
if (root) {
  const frame = document.createElement("iframe");
  frame.src = new URL("../translator_page/index.html", import.meta.url).href;
  frame.title = "Translator, English to Italian";
  frame.className = "translator-page";
  root.append(frame);
}
