// Starts the page of a piano roll.

{
  const main = document.getElementById("roll");
  if (main) viz.data().then(({ roll: data }) => roll.open(main, data));
}
