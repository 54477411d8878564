// The case explorer. Every text from the data reaches the page as text, never as markup.
(() => {
  // Rows that are made at once.
  const WINDOW = 100;
  // In place of an attempt that nobody chose: the first that failed.
  const FIRST = -1;
  // In place of the number of a row where none is open.
  const NONE = -1;
  const byId = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(byId(id).textContent);
  const index = read("index");
  const detail = caseView(index, () => read("details"));

  const rows = index.rows.map(
    ([model, task, id, verdict, against, critical, passed, scored, attempts, before, slices, modes], number) => ({
      number, model, task, id, verdict, against, critical, passed, scored, attempts, before, slices, modes,
      folded: id.toLowerCase(),
      key: [...(index.models.length > 1 ? [index.models[model]] : []), index.tasks[task], id].join("/"),
    }));
  // Names are cut, and a slash can be part of them: only the number of a row is its own.
  const byKey = new Map();
  for (const row of rows) {
    if (!byKey.has(row.key)) byKey.set(row.key, []);
    byKey.get(row.key).push(row);
  }

  // Name of a filter → its words, and which of them a row has.
  const FACETS = {
    verdict: [index.verdicts, (row) => [row.verdict]],
    against: [index.against, (row) => (row.against < 0 ? [] : [row.against])],
    task: [index.tasks, (row) => [row.task]],
    slice: [index.slices, (row) => row.slices],
    mode: [index.modes, (row) => row.modes],
    model: [index.models, (row) => [row.model]],
  };
  const names = Object.keys(FACETS);
  const state = { q: "", open: NONE, attempt: FIRST, shown: WINDOW, ...Object.fromEntries(names.map((name) => [name, ""])) };
  let matching = rows;

  // Filters

  function choose() {
    const wanted = names.map((name) => (state[name] === "" ? null : FACETS[name][0].indexOf(state[name])));
    const counts = names.map((name) => new Array(FACETS[name][0].length).fill(0));
    const query = state.q.toLowerCase();
    matching = [];
    for (const row of rows) {
      if (query && !row.folded.includes(query)) continue;
      const has = names.map((name) => FACETS[name][1](row));
      const failing = names.flatMap((_, n) => (wanted[n] === null || has[n].includes(wanted[n]) ? [] : [n]));
      if (!failing.length) matching.push(row);
      // A filter counts what its other words would give.
      names.forEach((_, n) => {
        if (failing.every((other) => other === n)) for (const word of has[n]) counts[n][word] += 1;
      });
    }
    names.forEach((name, n) => label(name, counts[n]));
  }

  function label(name, counts) {
    const select = byId(name);
    FACETS[name][0].forEach((word, n) => {
      select.options[n + 1].textContent = `${word} (${counts[n]})`;
    });
    select.value = state[name];
  }

  function buildFilters() {
    for (const name of names) {
      const words = FACETS[name][0];
      byId(name).append(new Option("all", ""), ...words.map((word) => new Option(word, word)));
      byId(name).parentElement.hidden = words.length < 2;
      byId(name).addEventListener("change", (event) => filter({ [name]: event.target.value }));
    }
    byId("q").addEventListener("input", (event) => filter({ q: event.target.value }));
  }

  function filter(change) {
    Object.assign(state, { open: NONE, attempt: FIRST, shown: WINDOW }, change);
    render();
    write();
  }

  // The fragment of the address holds what is shown, so that a link says it.

  function write() {
    const said = new URLSearchParams();
    for (const name of ["q", ...names]) if (state[name]) said.set(name, state[name]);
    if (state.open !== NONE) {
      const { key, number } = rows[state.open];
      said.set("case", key);
      if (byKey.get(key).length > 1) said.set("row", String(number + 1));
    }
    if (state.attempt !== FIRST) said.set("attempt", String(state.attempt + 1));
    try {
      history.replaceState(null, "", `#${said}`);
    } catch {
      // Where a page may not write its own address, there is only no link to share.
    }
  }

  function follow() {
    const said = new URLSearchParams(location.hash.slice(1));
    const known = ["q", ...names, "case", "attempt"].filter((name) => said.has(name));
    for (const name of names) {
      const word = said.get(name) ?? "";
      state[name] = FACETS[name][0].includes(word) ? word : "";
    }
    state.q = said.get("q") ?? "";
    const named = byKey.get(said.get("case")) ?? [];
    state.open = (named.find((row) => String(row.number + 1) === said.get("row")) ?? named[0])?.number ?? NONE;
    const attempt = Number.parseInt(said.get("attempt") ?? "", 10);
    state.attempt = attempt > 0 ? attempt - 1 : FIRST;
    state.shown = WINDOW;
    render();
    const opened = current();
    if (opened) opened.scrollIntoView({ block: "start" });
    else if (known.length) byId("cases").scrollIntoView();
  }

  // The list

  function render() {
    choose();
    byId("q").value = state.q;
    const place = matching.findIndex((row) => row.number === state.open);
    if (place < 0) state.open = NONE;
    state.shown = Math.max(state.shown, place + 1);
    byId("list").replaceChildren(...matching.slice(0, state.shown).map(item));
    const tail = matching.length === 1 ? "case" : "cases";
    const all = written(rows.length);
    byId("count").textContent =
      matching.length === rows.length ? `${all} ${tail}` : `${written(matching.length)} of ${all} ${tail}`;
    offerMore();
    if (state.open !== NONE) open(state.open, state.attempt);
  }

  const written = (number) => number.toLocaleString("en");

  function offerMore() {
    const left = matching.length - state.shown;
    byId("more").hidden = left <= 0;
    byId("more").textContent = `Show ${Math.min(WINDOW, left)} more of ${written(left)}`;
  }

  function more() {
    const next = matching.slice(state.shown, state.shown + WINDOW).map(item);
    state.shown += WINDOW;
    byId("list").append(...next);
    offerMore();
    if (next.length) next[0].firstChild.focus();
  }

  function item(row) {
    const verdict = index.verdicts[row.verdict];
    const said = make("span", verdict, SIGN[verdict], " ", verdict);
    const id = make("span", "id", row.id);
    if (row.critical) id.append(" ", make("span", "tag", "critical"));
    if (index.tasks.length > 1) id.append(" ", make("span", "tag", index.tasks[row.task]));
    if (index.models.length > 1) id.append(" ", make("span", "tag", index.models[row.model]));
    const mode = make("span", "mode", row.modes.map((n) => index.modes[n]).join(", "));
    const rate = make("span", "rate", `${row.passed} of ${row.scored} passed`);
    const against = row.against < 0 ? "" : index.against[row.against];
    if (against && against !== "same") rate.append(", ", make("span", against, against));
    const button = make("button", "case", said, id, mode, rate);
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => (state.open === row.number ? close() : show(row.number)));
    const entry = make("li", "", button);
    entry.row = row;
    return entry;
  }
  const SIGN = { passed: "✓", failed: "✗", flips: "≈", "not scored": "?" };

  // One case

  const current = () => byId("list").querySelector("button[aria-expanded=true]");

  function show(number) {
    fold();
    open(number, FIRST);
    write();
  }

  function open(number, attempt) {
    const entry = [...byId("list").children].find((each) => each.row.number === number);
    if (!entry) return;
    Object.assign(state, { open: number, attempt });
    const panel = detail(entry.row, attempt, (chosen) => {
      state.attempt = chosen;
      write();
    });
    panel.id = "detail";
    entry.append(panel);
    entry.firstChild.setAttribute("aria-expanded", "true");
    entry.firstChild.setAttribute("aria-controls", "detail");
  }

  function fold() {
    const opened = current();
    if (!opened) return null;
    opened.setAttribute("aria-expanded", "false");
    opened.removeAttribute("aria-controls");
    opened.nextSibling.remove();
    Object.assign(state, { open: NONE, attempt: FIRST });
    return opened;
  }

  function close() {
    const folded = fold();
    if (folded) {
      folded.focus();
      write();
    }
    return Boolean(folded);
  }

  // Keys

  function step(by) {
    const entries = [...byId("list").children];
    const at = entries.indexOf(document.activeElement?.closest?.(".cases > li"));
    if (at + by >= entries.length && state.shown < matching.length) return more();
    const next = entries[at < 0 ? 0 : Math.min(Math.max(at + by, 0), entries.length - 1)];
    next?.firstChild.focus();
  }

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    const onCase = target instanceof Element && target.matches(".case");
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      if (target === byId("q") && state.q) filter({ q: "" });
      else if (!close() && typing) target.blur();
    } else if (typing) {
      if (target !== byId("q") || event.key !== "ArrowDown") return;
      byId("list").firstChild?.firstChild.focus();
    } else if (event.key === "/") byId("q").focus();
    else if (event.key === "?") help();
    else if (event.key === "j" || (onCase && arrow === 1)) step(1);
    else if (event.key === "k" || (onCase && arrow === -1)) step(-1);
    else return;
    event.preventDefault();
  }

  function help() {
    const isHidden = (byId("keys").hidden = !byId("keys").hidden);
    byId("help").setAttribute("aria-expanded", String(!isHidden));
  }

  // Paper has nothing to unfold.
  function unfold() {
    for (const box of document.querySelectorAll("details:not([open])")) {
      box.open = true;
      window.addEventListener("afterprint", () => (box.open = false), { once: true });
    }
  }

  buildFilters();
  byId("explorer").querySelector("form").addEventListener("reset", (event) => {
    event.preventDefault();
    filter({ q: "", ...Object.fromEntries(names.map((name) => [name, ""])) });
  });
  byId("explorer").querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  byId("help").addEventListener("click", help);
  byId("more").addEventListener("click", more);
  document.addEventListener("keydown", press);
  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", unfold);
  byId("explorer").hidden = false;
  follow();
})();
