"use strict";

// JSON as lines to read, each of which knows whether it is marked.
const jsonLines = (() => {
  const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/gs;
  const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;

  // JSON as lines, each with the way that leads to it. Numbers stay as they are written, and what is cut off in the
  // middle is shown as far as it goes. Ways that are met are taken out of `marked`.
  function jsonLines(source, marked) {
    const lines = [];
    const stack = [];
    let path = "$";
    let inside = false;
    let line = null;
    const started = () => {
      if (!line) {
        const met = marked.has(path) || inside;
        line = { text: "", depth: stack.length, marked: met };
        lines.push(line);
      }
      return line;
    };
    const met = new Set();
    const enter = (way) => {
      path = way;
      if (marked.has(way)) met.add(way);
    };
    for (const [token] of source.matchAll(TOKEN)) {
      const top = stack.at(-1);
      if (token === "{" || token === "[") {
        started().text += token;
        stack.push({ way: path, list: token === "[", at: 0, key: token === "{", inside });
        inside = inside || marked.has(path);
        line = null;
        if (token === "[") enter(`${path}[0]`);
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
        if (top.list) enter(`${top.way}[${top.at}]`);
      } else if (token === ":") {
        started().text += ": ";
        if (top) top.key = false;
      } else if (top?.key && token.startsWith('"')) {
        const name = token.slice(1, -1);
        enter(PLAIN.test(name) ? `${top.way}.${name}` : `${top.way}[${token}]`);
        started().text += token;
      } else {
        const here = started();
        here.text += /[^\s[{]$/.test(here.text) && !here.text.endsWith(": ") ? ` ${token}` : token;
      }
    }
    for (const way of met) marked.delete(way);
    return lines;
  }

  return jsonLines;
})();
