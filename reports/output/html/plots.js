"use strict";
// Plots are SVG whose marks have titles. With this script the mark under the mouse or the keyboard
// shows its title at once, the row and column of a tile stand out, and names in a legend hide and
// show their series.
for (const figure of document.querySelectorAll("figure.plot, figure.heat")) {
  const svg = figure.querySelector("svg"), map = figure.querySelector(".map");
  const box = document.createElement("div");
  box.className = "tip";
  box.hidden = true;
  map.append(box);

  const leave = () => {
    box.hidden = true;
    for (const marked of svg.querySelectorAll(".on")) marked.classList.remove("on");
  };
  const show = (mark, x, y) => {
    leave();
    const { row, column } = mark.dataset;
    if (row) {
      for (const tick of svg.querySelectorAll(`.tick[data-row="${row}"], .tick[data-column="${column}"]`)) {
        tick.classList.add("on");
      }
    }
    mark.classList.add("on");
    box.textContent = mark.getAttribute("aria-label");
    box.hidden = false;
    const around = map.getBoundingClientRect(), own = mark.getBoundingClientRect();
    const left = (x ?? own.left + own.width / 2) - around.left, top = (y ?? own.top) - around.top;
    box.style.left = `${Math.max(0, Math.min(left - box.offsetWidth / 2, around.width - box.offsetWidth))}px`;
    box.style.top = `${top < box.offsetHeight ? top + 14 : top - box.offsetHeight - 6}px`;
  };

  const marks = [...svg.querySelectorAll("title")].map((title) => title.parentNode).filter((mark) => mark !== svg);
  const points = marks.filter((mark) => !mark.matches(".line, .band"));
  const tile = (row, column) => points.find((m) => +m.dataset.row === row && +m.dataset.column === column);
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  svg.setAttribute("role", "group");
  for (const mark of marks) {
    const title = mark.querySelector("title"), wide = !points.includes(mark);
    mark.setAttribute("aria-label", title.textContent);
    title.remove();  // the browser's own tip would cover ours
    mark.addEventListener("mousemove", (event) => show(mark, ...(wide ? [event.clientX, event.clientY] : [])));
    mark.addEventListener("mouseleave", leave);
  }
  for (const [i, mark] of points.entries()) {
    mark.setAttribute("role", "img");
    mark.setAttribute("tabindex", i ? "-1" : "0");
    mark.addEventListener("focus", () => show(mark));
    mark.addEventListener("blur", leave);
    mark.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      if (event.key === "Escape") leave();
      if (!step) return;
      event.preventDefault();
      const next = mark.dataset.row ? tile(+mark.dataset.row + step[0], +mark.dataset.column + step[1])
                                    : points[i + step[0] + step[1]];
      if (!next) return;
      mark.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }
  svg.querySelector("title").remove();

  const keys = [...svg.querySelectorAll(".key")];
  for (const key of keys.length > 1 ? keys : []) {
    const colour = [...key.classList].find((name) => /^c\d$/.test(name));
    const press = () => {
      const off = key.classList.toggle("off");
      key.setAttribute("aria-pressed", String(!off));
      for (const series of svg.querySelectorAll(`.series.${colour}`)) series.classList.toggle("off", off);
    };
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.setAttribute("aria-pressed", "true");
    key.addEventListener("click", press);
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press();
    });
  }
}
