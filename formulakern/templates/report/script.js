"use strict";
(() => {
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  // Tables: a click on a heading sorts, a second one turns the order; numbers begin with the largest.
  for (const table of document.querySelectorAll("table.listing")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const now = head.getAttribute("aria-sort");
      const up = now === "none" ? !numeric : now === "descending";
      const key = row => row.cells[place].dataset.value;
      const order = (a, b) => numeric ? Number(a) - Number(b)
        : a.localeCompare(b, undefined, { numeric: true });
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        return up ? order(x, y) : order(y, x);
      });
      body.append(...rows);
      heads.forEach(other => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    }));
    const find = document.getElementById(table.id + "-find");
    if (find) find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      let shown = 0;
      for (const row of body.rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      find.parentElement.querySelector(".found").textContent =
        wanted ? shown + " of " + body.rows.length : "";
    });
  }

  const source = document.getElementById("reasons");
  if (!source || source.type !== "application/json") return;
  const data = JSON.parse(source.textContent);
  const place = name => document.getElementById(name);
  const pick = place("row-pick"), show = place("row-show"), which = place("row-score");
  const target = place("reason"), verdict = place("verdict");
  const number = (value, whole) => {
    const size = Math.abs(value);
    const text = whole ? String(size) : size !== 0 && (size < 5e-4 || size >= 1e6) ? size.toExponential(2)
      : size.toFixed(size < 100 ? 3 : 1);
    return (value < 0 ? "\u2212" : "+") + text;
  };

  function options() {
    const before = pick.value;
    pick.replaceChildren();
    data.rows.forEach((row, at) => {
      if (show.value === "wrong" && row.ok !== false) return;
      if (show.value === "right" && row.ok !== true) return;
      const said = row.n + ": " + row.p + (row.t === "" ? "" : row.ok === true ? " \u2713"
        : row.ok === false ? " \u2717 is " + row.t : ", is " + row.t);
      const option = make("option", said);
      option.value = at;
      pick.append(option);
    });
    if ([...pick.options].some(option => option.value === before)) pick.value = before;
    draw();
  }

  // A bar from one number to another, on an axis that all bars of a table share.
  function bar(from, to, low, high, kind) {
    const span = high - low || 1, lane = make("span", null, "bar"), fill = make("span", null, kind);
    fill.style.left = 100 * (Math.min(from, to) - low) / span + "%";
    fill.style.width = Math.max(100 * Math.abs(to - from) / span, 0.4) + "%";
    const zero = make("span", null, "zero");
    zero.style.left = 100 * (0 - low) / span + "%";
    lane.append(fill, zero);
    lane.setAttribute("aria-hidden", "true");
    return lane;
  }

  function line(amount, from, to, range, text, kind, code, whole) {
    const row = make("tr", null, kind === "whole" ? "total" : "");
    const lane = make("td", null, "lane");
    lane.append(bar(from, to, range[0], range[1], kind));
    const said = make("td", null, "rule");
    said.append(make(code ? "code" : "span", text));
    row.append(make("td", number(amount, whole), "number"), lane, said);
    return row;
  }

  function waterfall(sum) {
    const steps = [];
    let at = 0;
    const add = (amount, text, code) => {
      steps.push([amount, at, at + amount, text, code]);
      at += amount;
    };
    if (sum.b || !sum.x.length) add(sum.b, "intercept, the same for every row", false);
    sum.x.forEach(([term, amount]) => add(amount, data.terms[term], true));
    if (sum.o[0]) add(sum.o[1], sum.o[0] + " further " + data.what + (sum.o[0] > 1 ? "s" : ""), false);
    const ends = [0, sum.v, ...steps.map(step => step[2])];
    const range = [Math.min(...ends), Math.max(...ends)], whole = ends.every(Number.isInteger);
    const table = make("table", null, "fall"), body = make("tbody"), head = make("thead");
    table.append(make("caption", sum.c));
    const names = make("tr");
    ["adds", "from\u2026 to", data.what].forEach((name, k) => {
      const cell = make("th", name, k === 0 ? "number" : "");
      cell.scope = "col";
      names.append(cell);
    });
    head.append(names);
    for (const [amount, from, to, text, code] of steps)
      body.append(line(amount, from, to, range, text, amount < 0 ? "minus" : "plus", code, whole));
    body.append(line(sum.v, 0, sum.v, range, "score", "whole", false, whole));
    table.append(head, body);
    return table;
  }

  const STATES = { decides: "decides", false: "is false" };
  function asked(steps) {
    const table = make("table", null, "steps"), body = make("tbody");
    table.append(make("caption", "In the order of the rules"));
    for (const [term, state, why] of steps) {
      const row = make("tr", null, state), said = make("td", null, "rule");
      said.append(make("code", data.terms[term]));
      if (why) said.append(make("div", why, "note"));
      row.append(make("td", STATES[state], "state"), said);
      body.append(row);
    }
    table.append(body);
    return table;
  }

  function draw() {
    target.replaceChildren();
    const row = data.rows[pick.value];
    verdict.replaceChildren();
    if (!row) {
      verdict.append("No such row.");
      return;
    }
    verdict.append(make("strong", "Row " + row.n + ": " + row.p));
    if (row.ok !== null) {
      verdict.append(" ", make("span", row.ok ? "\u2713 right" : "\u2717 wrong, it is " + row.t,
        row.ok ? "ok" : "no"));
    } else if (row.t !== "") verdict.append(", it is " + row.t);
    if (row.s) target.append(make("p", row.s, "reason-text"));
    const sums = row.sums || [];
    place("row-score-part").hidden = sums.length < 2;
    if (sums.length) {
      const before = which.value;
      which.replaceChildren(...sums.map((sum, k) => {
        const option = make("option", sum.c);
        option.value = k;
        return option;
      }));
      which.value = before && before < sums.length && draw.row === row ? before : 0;
      const holder = make("div", null, "scroll");
      holder.tabIndex = 0;
      holder.setAttribute("role", "region");
      holder.setAttribute("aria-label", "Contributions to the score");
      holder.append(waterfall(sums[which.value]));
      target.append(holder);
    }
    if (row.steps) target.append(asked(row.steps));
    if (row.e.length) {
      const entries = make("dl", null, "entries");
      row.e.forEach((entry, k) => {
        const pair = make("div");
        pair.append(make("dt", data.columns[k]), make("dd", entry));
        entries.append(pair);
      });
      const part = make("details");
      part.open = row.e.length <= 24;
      part.append(make("summary", "The row"), entries);
      target.append(part);
    }
    draw.row = row;
    const hash = "#row=" + row.n;
    if (draw.ready && location.hash !== hash) history.replaceState(null, "", hash);
  }

  const move = step => {
    const at = pick.selectedIndex + step;
    if (at < 0 || at >= pick.options.length) return;
    pick.selectedIndex = at;
    draw();
  };
  pick.addEventListener("change", draw);
  which.addEventListener("change", draw);
  show.addEventListener("change", options);
  place("row-before").addEventListener("click", () => move(-1));
  place("row-after").addEventListener("click", () => move(1));
  function follow() {
    const wanted = /^#row=(\d+)$/.exec(location.hash);
    const at = wanted ? data.rows.findIndex(row => row.n === Number(wanted[1])) : -1;
    if (at < 0) return;
    show.value = "all";
    options();
    pick.value = at;
    draw();
    document.getElementById("why-title").scrollIntoView();
  }
  options();
  draw.ready = true;
  window.addEventListener("hashchange", follow);
  follow();
})();
