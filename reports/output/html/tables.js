"use strict";
// Tables that sort by a clicked heading and are filtered by words. The page works without.
for (const table of document.querySelectorAll("table.sortable")) {
  const rows = [...table.querySelectorAll("tbody tr")];
  const box = document.querySelector(`[data-filter="${table.id}"]`);
  const more = document.querySelector(`[data-more="${table.id}"]`);
  const head = [...table.querySelectorAll("thead th")];
  const firstRows = table.tBodies[0].rows.length;
  let matching = rows, all = !more, order = rows;

  const show = () => {
    const limit = all ? Infinity : firstRows;
    const keep = new Set(matching);
    let shown = 0;
    for (const row of order) row.hidden = !keep.has(row) || ++shown > limit;
    if (more) {
      more.hidden = all || matching.length <= firstRows;
      more.textContent = `Show all ${matching.length}`;
    }
    if (box) {
      box.querySelector("output").textContent =
        matching.length === rows.length ? "" : `${matching.length} of ${rows.length}`;
    }
  };
  const gather = () => {
    for (const body of table.tBodies) body.hidden = false;
    table.tBodies[0].append(...order);
  };

  // "98.4 %", "36 min 54 s", "798.7 MiB" and "2n8g" sort by value; what is no number stays last, whatever
  // the direction.
  const units = { us: 1e-6, ms: 1e-3, min: 60, h: 3600, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
                  mJ: 1e-3, kJ: 1e3, kW: 1e3 };
  const number = (text) => {
    const gpus = /^([\d?]+)n([\d?]+)g$/.exec(text);
    const [, first, unit, rest] = /^([-+]?[\d.]+(?:e[-+]?\d+)?) ?([a-zA-Z]*) ?(\d\d s|\d\d min)?/.exec(text) ?? [];
    const value = gpus ? gpus[1] * gpus[2] : parseFloat(first) * (units[unit] ?? 1) + (rest ? number(rest) : 0);
    return isNaN(value) ? null : value;
  };
  head.forEach((th, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      for (const other of head) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = rows.map((row) => {
        const text = row.cells[i].textContent.trim();
        return { row, text, value: number(text) };
      });
      keyed.sort((a, b) => {
        if (!a.text !== !b.text) return a.text ? -1 : 1;
        if ((a.value === null) !== (b.value === null)) return a.value === null ? 1 : -1;
        const way = a.value === null ? a.text.localeCompare(b.text) : a.value - b.value;
        return up ? way : -way;
      });
      order = keyed.map((entry) => entry.row);
      gather();
      show();
    });
  });

  if (more) {
    more.addEventListener("click", () => {
      all = true;
      gather();
      show();
    });
  }
  if (box && rows.length > 5) {
    box.hidden = false;
    let texts = null;
    box.querySelector("input").addEventListener("input", (event) => {
      texts ??= rows.map((row) => (row.title + " " + row.textContent).toLowerCase());
      const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kept = new Set(rows.filter((row, i) => words.every((word) => texts[i].includes(word))));
      matching = order.filter((row) => kept.has(row));
      gather();
      show();
    });
  }
}
