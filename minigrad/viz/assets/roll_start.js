// The page of a piano roll begins.

{
  const main = document.getElementById("roll");
  if (main) viz.data().then(({ roll: data }) => roll.open(main, data));
}
