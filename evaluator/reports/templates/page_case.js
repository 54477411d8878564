function make(tag, classes, ...children) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...children);
  return element;
}

// One case: its attempts, what the scorer found, and what was expected beside what came.
// `readDetails`: gives the details of all cases, which are long and read when the first case is opened.
const caseView = (index, readDetails) => {
  const SIGNS = { right: "=", differs: "≠", missing: "−", extra: "+", excused: "+", plain: "" };
  const STATES = { right: "as expected", differs: "differs", missing: "did not come", extra: "not expected",
    excused: "not expected, but no fault", plain: "" };
  let details = null;

  const text = (number) => details.texts[number];

  // A panel of `row` with its attempt `chosen`, if there is one, and a call of `choose` when another is.
  function detail(row, chosen, choose) {
    details ??= readDetails();
    const panel = make("div", "detail");
    panel.setAttribute("role", "region");
    panel.setAttribute("aria-label", `case ${row.id}`);
    panel.append(make("p", "soft", about(row)));
    const found = details.cases[row.number];
    if (!found) {
      panel.append(make("p", "soft", "There was no room for the details of this case. They are in results.json."));
      return panel;
    }
    const [asked, fault, attempts] = found;
    if (text(fault)) panel.append(make("p", "failed", `Fault of the case: ${text(fault)}`));
    if (asked[0].length) panel.append(question(...asked));
    if (!attempts[0].length) panel.append(make("p", "soft", "No attempt was made or recorded."));
    else panel.append(...attemptsOf(...attempts, chosen, choose));
    return panel;
  }

  function about(row) {
    const parts = [`task ${index.tasks[row.task]}`];
    if (row.slices.length) parts.push(`slices ${row.slices.map((n) => index.slices[n]).join(", ")}`);
    if (row.before) parts.push(`pass rate in the baseline ${row.before}, now ${row.passed} of ${row.scored} attempts`);
    else if (row.against >= 0) parts.push(`${index.against[row.against]}: the baseline has nothing to hold it against`);
    return parts.join(" · ");
  }

  // How many more there are than are shown; nothing where there are no more.
  function rest(more, what) {
    return more ? [make("p", "aside", `… and ${more} more ${what}${more === 1 ? "" : "s"}, in results.json`)] : [];
  }

  function question(asked, more) {
    const box = make("details", "", make("summary", "", "What was asked"), ...rest(more, "earlier message"));
    for (const [role, said] of asked) box.append(make("h4", "", text(role)), block(said));
    return box;
  }

  function attemptsOf(attempts, more, chosen, choose) {
    const bar = make("div", "attempts");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "attempts");
    const place = make("div", "");
    const buttons = attempts.map(([arm, number, said, mode], n) => {
      const named = `${text(arm) || "attempt"} ${number}: ${text(said)}`;
      const button = make("button", text(said), mode && text(mode) ? `${named}, ${text(mode)}` : named);
      button.type = "button";
      button.addEventListener("click", () => {
        select(n);
        choose(n);
      });
      return button;
    });
    const select = (n) => {
      buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === n)));
      place.replaceChildren(...attempt(attempts[n]));
    };
    bar.append(...buttons);
    const failed = attempts.findIndex(([, , said]) => text(said) === "failed");
    select(chosen in attempts ? chosen : Math.max(0, failed));
    return [bar, ...rest(more, "attempt"), place];
  }

  function attempt([, , , , why, figures, [findings, moreFindings], [pairs, morePairs]]) {
    const parts = [];
    if (text(why)) parts.push(block(why));
    if (findings.length) parts.push(findingsOf(findings), ...rest(moreFindings, "finding"));
    if (pairs.length) parts.push(make("div", "sides head", make("div"), make("div", "", "expected"), make("div", "", "actual")));
    parts.push(...pairs.map(sides), ...rest(morePairs, "row"));
    if (text(figures)) parts.push(make("p", "aside", text(figures)));
    return parts;
  }

  function findingsOf(findings) {
    const head = make("tr", "", ...["where", "what", "wanted", "got"].map((word) => make("th", "", word)));
    const table = make("table", "findings", make("thead", "", head));
    const body = make("tbody");
    for (const [where, keyword, wanted, got, message, isNote] of findings) {
      const cells = [where, keyword, wanted, got].map((said) => make("td", "", text(said) ? make("code", "", brief(said)) : "–"));
      if (text(message)) cells[3].append(" ", text(message));
      if (isNote) cells[1].append(" no fault");
      body.append(make("tr", isNote ? "note" : "", ...cells));
    }
    table.append(body);
    return make("div", "scroll", table);
  }

  const brief = (number) => (text(number).length > 400 ? `${text(number).slice(0, 400)}…` : text(number));

  // Expected beside actual

  function sides([said, wanted, got, places, paths]) {
    const word = text(said);
    const sign = make("div", "sign", SIGNS[word] ?? "");
    sign.title = STATES[word] ?? "";
    if (STATES[word]) sign.append(make("span", "unseen", STATES[word]));
    return make("div", `sides ${word}`, sign,
      side("wanted", word, wanted, places, word === "extra" || word === "excused" ? STATES[word] : ""),
      side("got", word, got, paths, word === "missing" ? STATES[word] : ""));
  }

  function side(kind, word, given, paths, otherwise) {
    const box = make("div", kind);
    if (!given) {
      if (otherwise) box.append(make("p", "none", otherwise));
      return box;
    }
    const [title, said, note, result, isJson] = given;
    box.append(make("h4", "", text(title)));
    // What is as expected, or not held against anything, needs no lines of its own.
    if (text(said)) box.append(isJson && word !== "right" && word !== "plain" ? json(said, paths, kind) : block(said, isJson));
    if (text(note)) box.append(make("p", "aside", text(note)));
    if (text(result)) {
      box.append(make("details", "", make("summary", "", "what the tool answered"), json(result, [], kind)));
    }
    return box;
  }

  function block(number, onOneLine = false) {
    return cutNote(make("pre", onOneLine ? "text line" : "text", text(number)), number);
  }

  function cutNote(element, number) {
    if (!details.cut.includes(number)) return element;
    return make("div", "", element,
      make("p", "aside", `cut after ${details.most} bytes; all of it is in results.json`));
  }

  function json(number, paths, kind) {
    const marked = new Set(paths.map(text));
    const box = make("pre", "json");
    for (const line of jsonLines(text(number), marked)) {
      const shown = make(line.marked ? "mark" : "span", "", line.text);
      shown.style.paddingLeft = `${Math.min(line.depth, 40) + 0.6}em`;
      if (line.marked) shown.prepend(make("span", "unseen", "differs: "));
      box.append(shown);
    }
    if (kind === "got") {
      for (const path of marked) {
        // Of what was cut, nobody can say here whether it is missing.
        const isCut = details.cut.includes(number) || path.endsWith("…");
        box.append(make("mark", "absent", `${path} is missing${isCut ? " or cut off here" : ""}`));
      }
    }
    return cutNote(box, number);
  }

  return detail;
};
