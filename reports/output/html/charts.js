"use strict";
// Draws the figures of the page with Chart.js over their static SVG: tooltips, a legend that
// filters, zoom by dragging or by keys, the theme of the page.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const shapes = ["circle", "rect", "triangle", "rectRot"];
  const charts = [];
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return {
      ink: get("--ink"), soft: get("--soft"), rule: get("--rule"), page: get("--page"),
      colours: [...Array(8).keys()].map((i) => get(`--c${i}`)),
    };
  };
  let look = theme();

  const tickText = (value, percent) => {
    if (Math.abs(value) < 1e-12) return percent ? "0 %" : "0";
    const four = (x) => String(Number(x.toPrecision(4)));
    if (percent) return `${four(value * 100)} %`;
    const size = Math.abs(value);
    return size >= 1e6 ? `${four(value / 1e6)}M` : size >= 1e4 ? `${four(value / 1e3)}k` : four(value);
  };
  // Without its middle: the end of a name (the topology) tells rows apart as its beginning does.
  const shorten = (text, most) => {
    const head = Math.floor((most - 1) / 2);
    return text.length > most ? `${text.slice(0, head)}…${text.slice(head + 1 - most)}` : text;
  };

  // The groups that are drawn: those whose name holds all words, at most as many as have a colour.
  const chosenGroups = (figure, words) => {
    if (!figure.groups) return null;
    const hits = [];
    figure.groups.forEach((name, i) => {
      if (words.every((word) => name.toLowerCase().includes(word))) hits.push(i);
    });
    return hits.slice(0, figure.groups_shown);
  };

  const faded = (hue, mark) => (mark === "faint_points" ? `${hue}73` : hue);

  const datasets = (figure, groups) => {
    const out = [];
    for (const series of figure.series) {
      const place = groups && series.group >= 0 ? groups.indexOf(series.group) : series.colour;
      if (place < 0) continue;
      const hue = look.colours[place % 8];
      const lined = ["line", "dashed", "line_and_points"].includes(series.mark);
      const radius = { line: 0, dashed: 0, bars: 0, spans: 0, faint_points: 2.5 }[series.mark] ?? 4.5;
      out.push({
        label: series.name, place, mark: series.mark, group: series.group,
        data: series.points.map(([x, y, low, high, tip]) => ({ x, y, low, high, tip })),
        showLine: lined, tension: 0, borderColor: faded(hue, series.mark), backgroundColor: faded(hue, series.mark),
        borderWidth: series.mark === "line" ? 1.2 : series.mark === "dashed" ? 1.3 : 2,
        borderDash: series.mark === "dashed" ? [5, 4] : [],
        pointStyle: shapes[place % 4], pointRadius: radius,
        pointHoverRadius: radius ? radius + 2 : 0,
        pointHitRadius: series.mark === "dashed" ? 0 : 8,
      });
    }
    return out;
  };

  // What the library does not know: shaded windows, reference lines, intervals, bars from 0.
  const extras = {
    id: "extras",
    beforeDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x, y } } = chart;
      const figure = chart.figure;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      for (const [from, to, , colour] of figure.bands) {
        const a = x.getPixelForValue(from), b = x.getPixelForValue(to);
        ctx.globalAlpha = 0.12;
        ctx.fillStyle = look.colours[colour];
        ctx.fillRect(a, area.top, b - a, area.height);
      }
      ctx.globalAlpha = 1;
      ctx.strokeStyle = ctx.fillStyle = look.soft;
      ctx.setLineDash([5, 4]);
      ctx.font = "11px system-ui, sans-serif";
      for (const [at, label] of figure.references) {
        ctx.beginPath();
        if (figure.y.rows) {
          const px = x.getPixelForValue(at);
          ctx.moveTo(px, area.top);
          ctx.lineTo(px, area.bottom);
        } else {
          const py = y.getPixelForValue(at);
          ctx.moveTo(area.left, py);
          ctx.lineTo(area.right, py);
          ctx.textAlign = "right";
          ctx.fillText(label, area.right - 3, py - 4);
        }
        ctx.stroke();
      }
      ctx.restore();
    },
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x, y } } = chart;
      const rows = chart.figure.y.rows;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      chart.data.datasets.forEach((set, index) => {
        if (!chart.isDatasetVisible(index)) return;
        ctx.strokeStyle = ctx.fillStyle = set.borderColor;
        ctx.lineWidth = 2;
        for (const point of set.data) {
          const px = x.getPixelForValue(point.x), py = y.getPixelForValue(point.y);
          if (set.mark === "bars") {
            if (rows) {
              const zero = x.getPixelForValue(0);
              ctx.fillRect(Math.min(zero, px), py - 4, Math.max(1, Math.abs(px - zero)), 8);
            } else {
              const zero = y.getPixelForValue(Math.max(0, y.min));
              ctx.fillRect(px - 4, Math.min(zero, py), 8, Math.max(1, Math.abs(py - zero)));
            }
          }
          if (point.low == null || point.high == null) continue;
          if (set.mark === "spans") {
            const a = x.getPixelForValue(point.low), b = x.getPixelForValue(point.high);
            ctx.fillRect(a, py - 6, Math.max(1, b - a), 12);
            continue;
          }
          ctx.beginPath();
          if (rows) {
            const a = x.getPixelForValue(point.low), b = x.getPixelForValue(point.high);
            ctx.moveTo(a, py); ctx.lineTo(b, py);
            for (const end of [a, b]) { ctx.moveTo(end, py - 4); ctx.lineTo(end, py + 4); }
          } else {
            const a = y.getPixelForValue(point.low), b = y.getPixelForValue(point.high);
            ctx.moveTo(px, a); ctx.lineTo(px, b);
            for (const end of [a, b]) { ctx.moveTo(px - 4, end); ctx.lineTo(px + 4, end); }
          }
          ctx.stroke();
        }
      });
      ctx.restore();
    },
  };

  // What lies under the mouse where intervals are drawn as bars: the library knows their middles only.
  Chart.Interaction.modes.spans = (chart, event) => {
    const at = Chart.helpers.getRelativePosition(event, chart), { x, y } = chart.scales;
    const found = [];
    chart.data.datasets.forEach((set, datasetIndex) => {
      if (!chart.isDatasetVisible(datasetIndex)) return;
      set.data.forEach((point, index) => {
        const inside = x.getPixelForValue(point.low) - 1 <= at.x && at.x <= x.getPixelForValue(point.high) + 1;
        if (!inside || Math.abs(y.getPixelForValue(point.y) - at.y) > 8) return;
        found.push({ element: chart.getDatasetMeta(datasetIndex).data[index], datasetIndex, index });
      });
    });
    return found;
  };
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

  const scale = (figure, name) => {
    const axis = figure[name];
    return {
      type: axis.log ? "logarithmic" : "linear",
      min: axis.low, max: axis.high, reverse: Boolean(axis.rows),
      title: { display: Boolean(axis.label), text: axis.label, color: look.ink },
      grid: { color: look.rule, borderColor: look.soft },
      ticks: {
        color: look.soft, autoSkip: false, maxRotation: 0,
        callback(value) {
          if (!axis.rows) return tickText(value, axis.percent);
          return shorten(axis.rows[value] ?? "", Math.min(60, Math.max(14, Math.floor(this.chart.width * 0.4 / 6.3))));
        },
      },
      afterBuildTicks(own) {
        if (axis.rows || (own.min === axis.low && own.max === axis.high)) {
          own.ticks = axis.ticks.map((value) => ({ value }));
          // As many as have room beside each other, on a narrow screen every second or third.
          const widest = Math.max(...axis.ticks.map((value) => tickText(value, axis.percent).length));
          while (name === "x" && own.ticks.length > 2 && own.ticks.length * (widest * 7 + 6) > own.width) {
            own.ticks = own.ticks.filter((_, i) => i % 2 === 0);
          }
        }
      },
    };
  };

  const zoomTo = (chart, low, high) => {
    const { x } = chart.figure;
    const own = chart.options.scales.x;
    own.min = Math.max(low, x.low);
    own.max = Math.min(high, x.high);
    chart.update("none");
    chart.resetButton.hidden = own.min === x.low && own.max === x.high;
  };

  const addZoom = (chart, holder) => {
    const canvas = chart.canvas;
    const mark = document.createElement("div");
    mark.className = "zoom";
    mark.hidden = true;
    holder.append(mark);
    const reset = document.createElement("button");
    reset.type = "button";
    reset.className = "reset";
    reset.textContent = "Reset zoom";
    reset.hidden = true;
    reset.addEventListener("click", () => zoomTo(chart, -Infinity, Infinity));
    holder.append(reset);
    chart.resetButton = reset;
    let start = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      start = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (start === null) return;
      mark.hidden = Math.abs(event.offsetX - start) < 5;
      mark.style.left = `${Math.min(start, event.offsetX)}px`;
      mark.style.width = `${Math.abs(event.offsetX - start)}px`;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const ends = [start, event.offsetX].sort((a, b) => a - b);
      start = null;
      mark.hidden = true;
      if (ends[1] - ends[0] < 5) return;
      zoomTo(chart, ...ends.map((end) => chart.scales.x.getValueForPixel(end)));
    });
    canvas.addEventListener("dblclick", () => zoomTo(chart, -Infinity, Infinity));
    canvas.addEventListener("keydown", (event) => {
      const own = chart.scales.x, area = chart.chartArea;
      const at = (share) => own.getValueForPixel(area.left + share * area.width);
      const moves = { "+": [0.15, 0.85], "-": [-0.2, 1.2], ArrowLeft: [-0.1, 0.9], ArrowRight: [0.1, 1.1] };
      if (event.key === "0" || event.key === "Escape") zoomTo(chart, -Infinity, Infinity);
      else if (moves[event.key]) zoomTo(chart, ...moves[event.key].map(at));
      else return;
      event.preventDefault();
    });
  };

  // The legend of the page becomes buttons, so that it works from the keyboard too.
  const fillLegend = (chart, list) => {
    list.replaceChildren();
    chart.data.datasets.forEach((set) => {
      if (!set.label) return;
      const item = document.createElement("li"), button = document.createElement("button");
      const swatch = document.createElement("span");
      swatch.className = `swatch c${set.place % 8}`;
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(swatch, set.label);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        chart.data.datasets.forEach((other, i) => {
          if (other === set || (set.group >= 0 && other.group === set.group)) chart.setDatasetVisibility(i, on);
        });
        chart.update("none");
      });
      item.append(button);
      list.append(item);
    });
  };

  const addPicker = (chart, element, list) => {
    const figure = chart.figure;
    if (!figure.groups || figure.groups.length <= figure.groups_shown) return;
    const label = document.createElement("label"), input = document.createElement("input");
    label.className = "filter";
    input.type = "search";
    input.placeholder = `words of a series, ${figure.groups.length} to choose from`;
    label.append("Series ", input);
    element.prepend(label);
    const caption = element.querySelector("figcaption");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const groups = chosenGroups(figure, words);
      chart.data.datasets = datasets(figure, groups);
      // Other series, another range.
      chart.options.scales.y.min = words.length && !figure.y.percent ? undefined : figure.y.low;
      chart.options.scales.y.max = words.length && !figure.y.percent ? undefined : figure.y.high;
      chart.update("none");
      caption.textContent = `${figure.title} (${groups.length} of ${figure.groups.length} series)`;
      fillLegend(chart, list);
    });
  };

  const draw = (element) => {
    const figure = figures[Number(element.dataset.plot)];
    const holder = document.createElement("div"), canvas = document.createElement("canvas");
    const svg = element.querySelector("svg");
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    holder.className = "canvas";
    holder.style.height = figure.y.rows ? `${height}px` : `${Math.round((height / width) * 560)}px`;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${figure.title}. Keys: + and - zoom, arrows move, 0 resets.`);
    holder.append(canvas);
    svg.before(holder);
    element.classList.add("live");
    const chart = new Chart(canvas, {
      type: "scatter",
      data: { datasets: datasets(figure, chosenGroups(figure, [])) },
      options: {
        animation: false, parsing: false, normalized: true, maintainAspectRatio: false,
        scales: { x: scale(figure, "x"), y: scale(figure, "y") },
        interaction: figure.series.some((series) => series.mark === "spans")
          ? { mode: "spans" } : { mode: "nearest", intersect: true },
        plugins: {
          legend: { display: false },
          tooltip: {
            callbacks: {
              title: () => "",
              label: ({ dataset, raw }) => {
                const text = raw.tip ?? `${tickText(raw.x, figure.x.percent)}: ${tickText(raw.y, figure.y.percent)}`;
                return dataset.label && figure.series.length > 1 ? `${dataset.label}: ${text}` : text;
              },
            },
          },
        },
      },
      plugins: [{ id: "figure", beforeInit: (own) => { own.figure = figure; } }, extras],
    });
    addZoom(chart, holder);
    const list = element.querySelector("ul.legend");
    if (list) fillLegend(chart, list);
    if (list) addPicker(chart, element, list);
    charts.push(chart);
  };

  // Only what is looked at is drawn: a page of many plots opens at once.
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "600px" });
  for (const element of document.querySelectorAll("figure.plot")) watcher.observe(element);

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    look = theme();
    for (const chart of charts) {
      chart.data.datasets.forEach((set) => {
        set.borderColor = set.backgroundColor = faded(look.colours[set.place % 8], set.mark);
      });
      for (const axis of Object.values(chart.options.scales)) {
        axis.title.color = look.ink;
        axis.grid.color = look.rule;
        axis.grid.borderColor = axis.ticks.color = look.soft;
      }
      chart.update("none");
    }
  });
})();
