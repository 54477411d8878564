"use strict";

// JSON as lines to read, each of which knows whether it is marked.
const jsonLines = (() => {
  const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/gs;
  const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;
  const QUOTED = /\[("(?:[^"\\]|\\.)*")\]/gs;
  // As in `json_path` of the evaluator, in characters.
  const LONGEST_PLAIN = 200;
  const LONGEST_QUOTED = 80;

  // The key that a token names, as `json_path` writes it, however the token spells it. One that is no whole text (it
  // was cut off) stays as it is.
  function stepTo(token) {
    let name;
    try {
      name = JSON.parse(token).replace(/\p{Surrogate}/gu, "\ufffd");
    } catch {
      return `[${token}]`;
    }
    const letters = [...name];
    if (letters.length <= LONGEST_PLAIN && PLAIN.test(name)) return `.${name}`;
    return `[${JSON.stringify(letters.length > LONGEST_QUOTED ? `${letters.slice(0, LONGEST_QUOTED).join("")}…` : name)}]`;
  }

  // In a way that was written for a reader, what cannot be seen is spelt out.
  const read = (way) => way.replace(QUOTED, (_, token) => stepTo(token));

  // JSON as lines, each with the way that leads to it. Numbers stay as they are written, and what is cut off in the
  // middle is shown as far as it goes. Ways that are met are taken out of `marked`.
  function jsonLines(source, marked) {
    const wanted = new Map([...marked].map((way) => [read(way), way]));
    const lines = [];
    const stack = [];
    let path = "$";
    let inside = false;
    let line = null;
    const started = () => {
      if (!line) {
        if (wanted.has(path)) marked.delete(wanted.get(path));
        line = { text: "", depth: stack.length, marked: wanted.has(path) || inside };
        lines.push(line);
      }
      return line;
    };
    for (const [token] of source.matchAll(TOKEN)) {
      const top = stack.at(-1);
      if (token === "{" || token === "[") {
        started().text += token;
        stack.push({ way: path, list: token === "[", at: 0, key: token === "{", inside });
        inside = inside || wanted.has(path);
        line = null;
        if (token === "[") path = `${path}[0]`;
      } else if (token === "}" || token === "]") {
        const closed = stack.pop();
        const empty = closed && lines.at(-1)?.text.endsWith(closed.list ? "[" : "{");
        if (empty) line = lines.at(-1);
        else line = null;
        if (closed) {
          path = closed.way;
          inside = closed.inside;
        }
        started().text += token;
      } else if (token === "," && top) {
        started().text += ",";
        line = null;
        top.at += 1;
        top.key = !top.list;
        if (top.list) path = `${top.way}[${top.at}]`;
      } else if (token === ":") {
        started().text += ": ";
        if (top) top.key = false;
      } else if (top?.key && token.startsWith('"')) {
        path = top.way + stepTo(token);
        started().text += token;
      } else {
        const here = started();
        here.text += /[^\s[{]$/.test(here.text) && !here.text.endsWith(": ") ? ` ${token}` : token;
      }
    }
    return lines;
  }

  return jsonLines;
})();
