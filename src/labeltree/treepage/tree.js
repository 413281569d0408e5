"use strict";
// The nodes of `data` come level by level, so that the children of each lie side by side.
const data = JSON.parse(document.getElementById("data").textContent);
const STEP = 50;  // siblings, or labels, that are shown at once
const first = new Int32Array(data.parent.length).fill(-1);  // child of each node
const children = new Int32Array(data.parent.length);  // how many it has
const roots = [];
const details = new Map();  // of nodes that are on the page and unfold
const rows = new Map();  // of all that are on the page
data.parent.forEach((above, node) => {
  if (above < 0) return roots.push(node);
  if (!children[above]++) first[above] = node;
});
let below = null;  // labels that a node shows as it is the deepest on the page, by node

function labelsBelow(node) {
  if (!below) {
    below = new Map();
    data.at.forEach((at, i) => {
      if (!below.has(at)) below.set(at, []);
      below.get(at).push(data.leaf[i]);
    });
  }
  return below.get(node) || [];
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function counted(count, noun) {
  return `${Math.round(count).toLocaleString("en")} ${noun}${Math.round(count) === 1 ? "" : "s"}`;
}

function rowOf(node, most, tag) {
  const row = element(tag, tag === "summary" ? "row" : "row leaf");
  const above = data.parent[node];
  const scale = element("span", "scale");
  const bar = scale.appendChild(element("span", "bar"));
  bar.style.width = `${most > 0 ? 100 * data.learned[node] / most : 0}%`;
  if (above >= 0 && data.learned[above] > 0) {
    const share = 100 * data.learned[node] / data.learned[above];
    scale.title = `${share.toFixed(1)} % of what the branch above has learned`;
  }
  const what = element("span");
  if (data.words[node].length) what.append(element("span", "words", data.words[node].join(", ")));
  const names = data.names[node].map(label => data.labels[label]).join(", ");
  what.append(element("span", "names", names + (data.count[node] > data.names[node].length && names ? ", …" : "")));
  const labels = tag === "summary" ? `${counted(data.count[node], "label")}, ` : "";
  row.append(scale, what, element("span", "count", `${labels}learned ${counted(data.learned[node], "time")}`));
  rows.set(node, row);
  return row;
}

function make(node, most) {
  const item = element("li");
  if (!children[node] && !data.hidden[node]) {
    item.append(rowOf(node, most, "div"));
    return item;
  }
  const branch = item.appendChild(element("details"));
  branch.append(rowOf(node, most, "summary"));
  details.set(node, branch);
  branch.addEventListener("toggle", () => { if (branch.open) fill(node); });
  return item;
}

// Appends what make(i) makes, for i from 0 to n - 1, a step at a time; returns what shows up to an i.
function inSteps(list, n, make) {
  let shown = 0;
  const button = element("button", "more");
  const show = upTo => {
    for (; shown < Math.min(n, upTo); ++shown) list.append(make(shown));
    button.textContent = `${(n - shown).toLocaleString("en")} more`;
    if (shown === n) button.remove();
  };
  button.addEventListener("click", () => show(shown + STEP));
  show(STEP);
  if (shown < n) list.after(button);
  return i => { if (i >= shown) show(i + STEP); };
}

const reach = new Map();  // what shows the children of a node up to one

function fill(node) {
  if (reach.has(node)) return;
  const branch = details.get(node);
  const list = branch.appendChild(element("ul"));
  const most = children[node] ? data.learned[first[node]] : 0;
  reach.set(node, () => {});
  if (children[node]) reach.set(node, inSteps(list, children[node], i => make(first[node] + i, most)));
  if (!data.hidden[node]) return;
  const labels = labelsBelow(node);
  const more = children[node] ? "more " : "", noun = data.hidden[node] === 1 ? "branch" : "branches";
  const told = `${data.hidden[node].toLocaleString("en")} ${more}${noun} not on this page`;
  const note = list.appendChild(element("li"));
  note.append(element("div", "quiet", told + (labels.length ? "; the labels in them that come most often:" : "")));
  const chips = note.appendChild(element("ul", "chips"));
  inSteps(chips, labels.length, i => element("li", "", data.labels[labels[i]]));
}

function open(node) {
  details.get(node).open = true;
  fill(node);  // now: the event comes later
}

function reveal(node) {
  const path = [];
  for (let up = node; up >= 0; up = data.parent[up]) path.unshift(up);
  path.forEach((step, i) => {
    if (i + 1 === path.length) return;
    open(step);
    reach.get(step)(path[i + 1] - first[step]);
  });
  document.querySelectorAll(".found").forEach(row => row.classList.remove("found"));
  if (data.hidden[node]) open(node);
  rows.get(node).classList.add("found");
  rows.get(node).scrollIntoView({block: "center"});
}

const tree = document.getElementById("tree");
roots.forEach(root => tree.append(make(root, Math.max(...roots.map(one => data.learned[one])))));
roots.forEach(root => { if (details.has(root)) open(root); });

const box = document.getElementById("search"), results = document.getElementById("results");
const MOST_RESULTS = 30;
let lower = null;
box.closest("search").hidden = false;

function find(asked) {
  lower = lower || data.labels.slice(0, data.searched).map(label => label.toLowerCase());
  const whole = [], part = [];
  const at = new Map();
  for (let i = 0; i < lower.length && whole.length + part.length < 500; ++i)
    if (lower[i].includes(asked)) (lower[i] === asked ? whole : part).push(i);
  const exact = lower.indexOf(asked);  // though five hundred others come before
  if (exact >= 0 && !whole.includes(exact)) whole.push(exact);
  const labels = [...whole, ...part].slice(0, MOST_RESULTS);
  const wanted = new Set(labels);
  data.leaf.forEach((label, i) => { if (wanted.has(label) && !at.has(label)) at.set(label, data.at[i]); });
  const found = labels.map(label => [data.labels[label], at.get(label)]);
  for (let node = 0; node < data.words.length && found.length < MOST_RESULTS; ++node)
    if (data.words[node].includes(asked)) found.push([`branch of: ${data.words[node].join(", ")}`, node]);
  return found;
}

box.addEventListener("input", () => {
  results.replaceChildren();
  const asked = box.value.trim().toLowerCase();
  if (!asked) return;
  const found = find(asked);
  if (!found.length) results.append(element("li", "quiet", "nothing found"));
  for (const [name, node] of found) {
    const button = results.appendChild(element("li")).appendChild(element("button", "", name));
    button.addEventListener("click", () => {
      reveal(node);
      results.replaceChildren();
    });
  }
});
box.addEventListener("keydown", event => {
  const found = results.querySelectorAll("button");
  if (event.key === "Escape") results.replaceChildren();
  if (event.key === "ArrowDown" && found.length) found[0].focus();
  if (event.key === "Enter" && found.length) found[0].click();
});
results.addEventListener("keydown", event => {
  const found = [...results.querySelectorAll("button")], at = found.indexOf(document.activeElement);
  if (event.key === "ArrowDown") found[Math.min(at + 1, found.length - 1)].focus();
  if (event.key === "ArrowUp") (at > 0 ? found[at - 1] : box).focus();
  if (event.key === "Escape") { results.replaceChildren(); box.focus(); }
});
