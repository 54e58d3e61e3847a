"use strict";
(() => {
  const tip = document.getElementById("tooltip");

  function say(text, x, y) {
    tip.hidden = !text;
    tip.textContent = text || "";
    if (!text) return;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + box.height + 20 > innerHeight ? y - box.height - 8 : y + 14) + "px";
  }

  // The text of a tooltip is what the mark tells; nothing in it is read as HTML.
  function answer(_handler, event, _item, value) {
    const text = value && typeof value === "object" ? Object.values(value)[0] : value;
    say(text == null ? "" : String(text), event.clientX, event.clientY);
  }

  function draw(figure) {
    const chart = figure.querySelector(".chart");
    const spec = JSON.parse(figure.querySelector(":scope > script").textContent);
    // Without the reading of formulas as programs, which the policy of the page forbids.
    const how = { actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: answer };
    return window.vegaEmbed(chart, spec, how).then(() => {
      figure.dataset.drawn = "yes";
      chart.addEventListener("keydown", (event) => step(event, chart));
      chart.addEventListener("blur", () => { say(""); choose(chart, null); });
    }).catch((error) => {
      figure.dataset.drawn = "no";
      chart.textContent = "This chart could not be drawn; its values are in the table below.";
      console.error(error);
    });
  }

  // Values alone: axes and legends have names too.
  const marks = (chart) => [...chart.querySelectorAll('[role="graphics-symbol"][aria-label]')]
    .filter((mark) => !["axis", "legend"].includes(mark.getAttribute("aria-roledescription")));

  function choose(chart, mark) {
    for (const other of chart.querySelectorAll(".chosen")) other.classList.remove("chosen");
    if (mark) mark.classList.add("chosen");
  }

  function step(event, chart) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { say(""); choose(chart, null); }
    const all = marks(chart);
    if (!by || !all.length) return;
    event.preventDefault();
    const now = all.findIndex((mark) => mark.classList.contains("chosen"));
    const mark = all[(now + (now < 0 && by < 0 ? 0 : by) + all.length) % all.length];
    choose(chart, mark);
    const box = mark.getBoundingClientRect();
    say(mark.getAttribute("aria-label"), box.right, box.top);
  }

  function order(a, b) {
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !(isNaN(x) && a !== "NaN") && !(isNaN(y) && b !== "NaN")) {
      if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    return a.localeCompare(b, "en", { numeric: true });
  }

  function sortable(table) {
    const body = table.tBodies[0];
    const pager = document.querySelector(`.pager[data-of="${table.id}"]`);
    const read = (row) => [...row.cells].map((cell) => [cell.textContent, cell.dataset.value]);
    const rows = pager ? JSON.parse(pager.querySelector("script").textContent) : [...body.rows].map(read);
    const classes = [...table.tHead.rows[0].cells].map((cell) => cell.className);
    const size = pager ? 100 : rows.length;
    let first = 0;

    function cell([shown, value], place) {
      const made = document.createElement("td");
      if (classes[place]) made.className = classes[place];
      made.dataset.value = value;
      made.textContent = shown;
      return made;
    }

    function fill() {
      body.replaceChildren(...rows.slice(first, first + size).map((row) => {
        const line = document.createElement("tr");
        line.append(...row.map(cell));
        return line;
      }));
      if (!pager) return;
      const end = Math.min(first + size, rows.length);
      const words = [first + 1, end, rows.length].map((count) => count.toLocaleString("en"));
      pager.querySelector(".where").textContent = `Rows ${words[0]} to ${words[1]} of ${words[2]}`;
      for (const button of pager.querySelectorAll("button")) {
        const to = first + size * button.dataset.by;
        button.disabled = to < 0 || to >= rows.length;
      }
    }

    [...table.tHead.rows[0].cells].forEach((head, place) => {
      head.querySelector("button").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort((a, b) => (up ? 1 : -1) * order(a[place][1], b[place][1]));
        first = 0;
        fill();
      });
    });
    if (!pager) return;
    for (const button of pager.querySelectorAll("button")) {
      button.addEventListener("click", () => { first += size * button.dataset.by; fill(); });
    }
    fill();
  }

  document.querySelectorAll("table").forEach(sortable);
  // On paper nothing can be opened: the values go with their charts.
  const open = [];
  addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; open.push(part); }));
  addEventListener("afterprint", () => { while (open.length) open.pop().open = false; });
  const drawn = [...document.querySelectorAll("figure[id]")].map(draw);
  Promise.allSettled(drawn).then(() => { document.documentElement.dataset.ready = "yes"; });
})();
