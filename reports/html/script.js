"use strict";
// Sorts a table by the clicked heading; numbers by value, the rest by text. The page works without.
for (const table of document.querySelectorAll("table.sortable")) {
  const value = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent;
  table.querySelectorAll("th").forEach((th, i) => {
    const button = document.createElement("button");
    button.textContent = th.textContent;
    button.type = "button";
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.querySelectorAll("tbody tr")];
      const keyed = rows.map((row) => [value(row, i), row]);
      keyed.sort((a, b) => {
        const x = parseFloat(a[0]), y = parseFloat(b[0]);
        const order = !isNaN(x) && !isNaN(y) ? x - y : a[0].localeCompare(b[0]);
        return up ? order : -order;
      });
      table.tBodies[0].append(...keyed.map((pair) => pair[1]));
    });
  });
}
for (const button of document.querySelectorAll("button.more")) {
  button.addEventListener("click", () => {
    for (const body of document.querySelectorAll("tbody[hidden]")) body.hidden = false;
    button.remove();
  });
}
