"use strict";
// Heat maps: the tile under the mouse or the keyboard says all that is known of its cell, and its
// row and column stand out. Without this script the tiles have plain titles.
for (const figure of document.querySelectorAll("figure.heat")) {
  const svg = figure.querySelector("svg"), map = figure.querySelector(".map");
  const tiles = [...svg.querySelectorAll(".tile")];
  const at = (row, column) => tiles.find((t) => +t.dataset.row === row && +t.dataset.column === column);
  const box = document.createElement("div");
  box.className = "tip";
  box.hidden = true;
  map.append(box);

  const leave = () => {
    box.hidden = true;
    for (const marked of svg.querySelectorAll(".on")) marked.classList.remove("on");
  };
  const show = (tile) => {
    leave();
    const { row, column } = tile.dataset;
    for (const tick of svg.querySelectorAll(`.tick[data-row="${row}"], .tick[data-column="${column}"]`)) {
      tick.classList.add("on");
    }
    tile.classList.add("on");
    box.textContent = tile.getAttribute("aria-label");
    box.hidden = false;
    const own = tile.getBoundingClientRect(), around = map.getBoundingClientRect();
    const middle = own.left + own.width / 2 - around.left;
    box.style.left = `${Math.max(0, Math.min(middle - box.offsetWidth / 2, around.width - box.offsetWidth))}px`;
    box.style.top = `${own.top - around.top - box.offsetHeight - 6}px`;
  };

  svg.setAttribute("role", "group");
  for (const [i, tile] of tiles.entries()) {
    const title = tile.querySelector("title");
    tile.setAttribute("role", "img");
    tile.setAttribute("aria-label", title.textContent);
    tile.setAttribute("tabindex", i ? "-1" : "0");
    title.remove();  // the browser's own tip would cover ours
    tile.addEventListener("mouseenter", () => show(tile));
    tile.addEventListener("mouseleave", leave);
    tile.addEventListener("focus", () => show(tile));
    tile.addEventListener("blur", leave);
  }
  svg.querySelector("title").remove();
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  svg.addEventListener("keydown", (event) => {
    const tile = event.target.closest(".tile"), step = steps[event.key];
    if (event.key === "Escape") leave();
    if (!tile || !step) return;
    event.preventDefault();
    const next = at(+tile.dataset.row + step[0], +tile.dataset.column + step[1]);
    if (!next) return;
    tile.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
