// The entry point of the piano roll page.

{
  const main = document.getElementById("roll");
  if (main) viz.data().then(({ roll: data }) => roll.open(main, data));
}
