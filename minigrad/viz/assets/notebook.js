// Runs once in a notebook around its pages: sends each the colour scheme (from notebook.css), and sets the height that
// it requests.
(() => {
  if (window.minigradPages) return;
  window.minigradPages = true;
  const least = 160, most = 1000; // pixels; longer pages scroll in their frame
  const pages = () => [...document.querySelectorAll("iframe.minigrad-page")];
  const sendScheme = (page) => {
    const scheme = getComputedStyle(page).colorScheme;
    page.contentWindow?.postMessage({ viz: { scheme: scheme === "light" || scheme === "dark" ? scheme : "system" } }, "*");
  };
  addEventListener("message", ({ source, data }) => {
    const page = data?.viz?.framed && pages().find(({ contentWindow }) => contentWindow === source);
    if (!page) return;
    if (data.viz.framed === "new") sendScheme(page);
    else page.style.height = `${Math.min(Math.max(Number(data.viz.framed) || least, least), most)}px`;
  });
  const themes = new MutationObserver(() => pages().forEach(sendScheme));
  for (const node of [document.documentElement, document.body]) themes.observe(node, { attributes: true });
})();
