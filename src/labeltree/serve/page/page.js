// The page of `labeltree serve`: suggests labels while a text is typed, teaches the model the right one, shows how it does.
// Labels and texts are untrusted. They enter the document as text, never as markup.

import { $, LONGEST_WAIT, build, drawProgress, follow, make, number, pause, percent } from "./progress.js";

const SUGGESTED = 5, OPTIONS = 20, WORDS = 8;
const TYPING_PAUSE = 150, READING_PAUSE = 450; // ms

const keyOf = JSON.stringify; // tells the label 1 from the label "1"

function say(sentence, kind = "") {
  $("status").textContent = sentence;
  $("status").className = kind;
}

function report(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Refusal)) throw error;
  say(error.message, "error");
}

// Calls

class Refusal extends Error {
  constructor(detail, status = 0) {
    super(detail);
    this.status = status;
  }
}

let token = sessionStorage.getItem("labeltree-token");
let asking = null; // one question, however many calls wait for its answer

function askToken(refused) {
  if (refused !== token) return null;
  return asking ??= new Promise((resolve) => {
    if (refused) $("token-note").textContent = "The server refused that token.";
    $("main").hidden = !($("token-form").hidden = false);
    $("token").focus();
    $("token-form").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("labeltree-token", token = $("token").value);
      $("main").hidden = !($("token-form").hidden = true);
      resolve(asking = null);
    };
  });
}

// Every call may be sent again: learning carries an id, the others change nothing.
async function request(path, options = {}, tries = 3) {
  for (let attempt = 1; ; attempt++) {
    const sent = token;
    const headers = { ...options.headers, ...(sent && { Authorization: `Bearer ${sent}` }) };
    let refusal = new Refusal("The server does not answer."), wait = attempt;
    try {
      const response = await fetch(path, { ...options, headers });
      if (response.ok) return response;
      const { detail, where } = await response.json().catch(() => ({}));
      refusal = new Refusal(`${detail ?? `The server answered ${response.status}.`}${where ? ` (${where})` : ""}`, response.status);
      wait = Number(response.headers.get("Retry-After")) || attempt;
    } catch (error) {
      if (error.name === "AbortError") throw error;
    }
    if (refusal.status === 401) {
      await askToken(sent);
      attempt = 0;
    } else if (attempt < tries && wait <= 5 && [0, 429, 503].includes(refusal.status)) {
      await pause(1000 * wait, options.signal);
    } else {
      throw refusal;
    }
  }
}

const get = async (path, signal) => (await request(path, { signal })).json();

async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

// Suggested labels

let model = null;
let typing = new AbortController();
let suggested = [], rows = [];
let answered = null; // the text that Enter may teach: typed, predicted, and not learned yet
let integers = false; // whether this model's labels are integers
let explains = true;

function showModel(news) {
  Object.assign(model, news);
  $("version").textContent = model.version;
  $("examples").textContent = number(model.examples);
  $("labels").textContent = number(model.labels);
}

function readInput() {
  const typed = $("text").value.trim();
  if (!typed) return null;
  if (model.text) return { text: $("text").value };
  const features = {};
  for (const pair of typed.split(/\s+/)) {
    const [, given, value] = pair.match(/^([^:|]+):([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i) ?? [];
    if (!given || (!model.names && !/^\d+$/.test(given))) {
      throw new Refusal(`Write pairs such as ${model.names ? "name:1" : "3:1"}. “${pair}” is not one.`);
    }
    const index = model.names ? given : Number(given);
    if (Object.hasOwn(features, index)) throw new Refusal(`Feature ${index} is there twice.`);
    features[index] = Number(value);
  }
  return { features };
}

async function suggest(delay) {
  typing.abort();
  const { signal } = typing = new AbortController();
  answered = null;
  try {
    await pause(delay, signal);
    const input = readInput(), typed = $("text").value;
    const { labels, version } = input ? await post("v1/predict", { ...input, k: SUGGESTED }, signal) : { labels: [] };
    signal.throwIfAborted();
    if ($("status").className === "error") say("");
    if (version) showModel({ version });
    if (delay) answered = typed;
    showSuggested(labels, input ? "No labels yet." : "Labels appear as you type.");
    await pause(READING_PAUSE, signal);
    $("spoken").textContent = labels.map(({ label, score }) => `${label} ${percent(score)}`).join(", ");
    if (labels.length && explains) await explain({ ...input, labels: labels.map(({ label }) => label), limit: WORDS }, signal);
  } catch (error) {
    report(error);
  }
}

async function explain(question, signal) {
  try {
    const { labels } = await post("v1/explain", question, signal);
    signal.throwIfAborted();
    for (const { label, words } of labels) showWords(rows.find(({ key }) => key === keyOf(label)), words);
  } catch (error) {
    if (error.status !== 501) throw error;
    explains = false;
    $("suggested").classList.add("wordless");
  }
}

function makeRow(_, place) {
  const [name, score, fill, words] = [make("span", { class: "name" }), make("span", { class: "score" }), make("i"), make("p", { class: "words" })];
  const pick = make(model.read_only ? "div" : "button", { class: "pick" }, name, score, make("span", { class: "bar" }, fill));
  if (!model.read_only) {
    build(pick, { type: "button", "aria-keyshortcuts": `Alt+${place + 1}` });
    pick.prepend(make("kbd", { "aria-hidden": true }, `Alt ${place + 1}`));
    pick.onclick = () => accept(suggested[place].label);
  }
  return { item: make("li", { hidden: "" }, pick, words), pick, name, score, fill, words, key: null };
}

function showSuggested(labels, otherwise) {
  suggested = labels;
  $("nothing").hidden = labels.length > 0;
  $("nothing").textContent = otherwise;
  rows.forEach((row) => row.item.hidden = true);
  labels.slice(0, rows.length).forEach(({ label, score }, place) => {
    const row = rows[place];
    integers = typeof label === "number";
    if (row.key !== keyOf(label)) row.words.replaceChildren();
    row.key = keyOf(label);
    row.item.hidden = false;
    row.name.textContent = label;
    row.score.textContent = percent(score);
    build(row.fill, { "--score": Math.min(Math.max(score, 0), 1) });
  });
  showChosen();
}

function showWords(row, words) {
  const strongest = Math.max(...words.map(({ weight }) => Math.abs(weight)));
  const side = (title, tag, sign) => {
    const some = words.filter(({ weight }) => sign * weight > 0).sort((a, b) => sign * (b.weight - a.weight));
    return some.length ? [title, ...some.map(({ word, weight }) => make(tag, { "--strength": Math.abs(weight) / strongest }, word))] : [];
  };
  row?.words.replaceChildren(...side("for", "b", 1), ...side("against", "s", -1));
}

// Learning

let learning = false;
let unsure = {}; // the example last sent and its id, until the server has said that it learned it
const chosen = new Map(); // for models of sets: key -> label

// crypto.randomUUID exists only under https and on localhost.
const uuid = () => "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, () => (crypto.getRandomValues(new Uint8Array(1))[0] & 15).toString(16));

function accept(label) {
  if (!model.sets) return learn([label]);
  if (!chosen.delete(keyOf(label))) chosen.set(keyOf(label), label);
  showChosen();
}

function showChosen() {
  if (!model.sets || model.read_only) return;
  for (const { pick, key } of rows) build(pick, { "aria-pressed": chosen.has(key) });
  $("chosen").replaceChildren(...[...chosen.values()].map((label) => {
    const chip = make("button", { type: "button", "aria-label": `Remove ${label}` }, label, " ×");
    chip.onclick = () => { accept(label); $("other").focus(); };
    return make("li", {}, chip);
  }));
  $("learn-set").disabled = !chosen.size;
  $("learn-set").textContent = ["Learn", "Learn 1 label"][chosen.size] ?? `Learn ${chosen.size} labels`;
}

async function learn(labels) {
  if (learning) return;
  learning = true;
  const typed = $("text").value;
  try {
    const input = readInput();
    if (!input) throw new Refusal(model.text ? "Type a text first." : "Type some features first.");
    const example = JSON.stringify({ ...input, labels });
    if (unsure.example !== example) unsure = { example, id: uuid() };
    say("Learning.");
    const { version } = await post("v1/learn", { ...input, labels, id: unsure.id });
    unsure = {};
    say(`Learned ${labels.map((label) => `“${label}”`).join(", ")}. Version ${version}.`, "done");
    showModel({ version });
    chosen.clear();
    showChosen();
    if ($("text").value === typed) {
      $("text").focus();
      $("text").select();
      suggest(0);
    }
  } catch (error) {
    report(error);
  } finally {
    learning = false;
  }
}

function onTextKey(event) {
  const phone = matchMedia("(pointer: coarse)").matches; // has no Shift Enter
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || phone) return;
  event.preventDefault();
  if (event.repeat) return;
  if (model.sets && chosen.size) learn([...chosen.values()]);
  else if (model.sets) say("Choose labels first.");
  else if (suggested.length && answered === $("text").value) learn([suggested[0].label]);
}

function onShortcut(event) {
  const place = event.altKey && !event.ctrlKey && event.code.match(/^(?:Digit|Numpad)([1-9])$/)?.[1];
  if (!place || event.repeat || place > suggested.length) return;
  event.preventDefault();
  accept(suggested[place - 1].label);
}

// Another label: a combobox after the WAI-ARIA pattern "list autocomplete with manual selection"

let options = [], active = -1, searched = null;
let searching = new AbortController();

async function search(delay) {
  searching.abort();
  const { signal } = searching = new AbortController();
  try {
    await pause(delay, signal);
    const query = $("other").value.trim();
    const { labels } = await get(`v1/labels?query=${encodeURIComponent(query)}&limit=${OPTIONS}`, signal);
    signal.throwIfAborted();
    if (labels.length) integers = typeof labels[0].label === "number";
    const known = !query || labels.some(({ label }) => String(label) === query);
    options = known ? labels : [...labels, { label: integers && /^-?\d+$/.test(query) ? Number(query) : query, fresh: true }];
    searched = query;
    $("options").replaceChildren(...options.map(({ label, examples, fresh }, place) => {
      const parts = fresh ? [`new label "${label}"`] : [make("span", {}, label), make("span", { class: "hint" }, `${number(examples)} examples`)];
      const option = make("li", { id: `option-${place}`, role: "option" }, ...parts);
      option.onclick = () => choose(place);
      return option;
    }));
    openOptions(options.length > 0);
  } catch (error) {
    report(error);
  }
}

function openOptions(open) {
  $("options").hidden = !open;
  build($("other"), { "aria-expanded": open });
  activate(-1);
}

function activate(place) {
  active = place;
  [...$("options").children].forEach((option, at) => build(option, { "aria-selected": at === place }));
  build($("other"), { "aria-activedescendant": place < 0 ? "" : `option-${place}` });
  $("options").children[place]?.scrollIntoView({ block: "nearest" });
}

function closeOptions() {
  searching.abort();
  searched = null;
  openOptions(false);
}

function choose(place) {
  const { label } = options[place];
  $("other").value = "";
  closeOptions();
  if (!chosen.has(keyOf(label))) accept(label);
}

async function onOptionKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, Enter: 0, Escape: 0 }[event.key];
  if (step === undefined || event.isComposing || event.altKey) return;
  event.preventDefault();
  if (event.key === "Escape") return $("options").hidden ? $("other").value = "" : closeOptions();
  if (!step && !$("other").value.trim() && active < 0) return;
  if (searched !== $("other").value.trim()) await search(0);
  if ($("options").hidden) return;
  const count = options.length;
  if (step) return activate(active < 0 && step < 0 ? count - 1 : (active + step + count) % count);
  // Enter takes what was typed only if that is a label, or if no other label is like it: a slip must not make a new label.
  const exact = options.findIndex(({ label, fresh }) => !fresh && String(label) === searched);
  const place = active >= 0 ? active : count === 1 ? 0 : exact;
  if (place >= 0) choose(place);
  else activate(0);
}

// Start

async function start() {
  for (let wait = 1; !model; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    model = await get("v1/model").catch(report);
    if (!model) await pause(1000 * wait);
  }
  say("");
  showModel({});
  const teaches = !model.read_only, enter = model.sets ? "Enter learns the chosen labels." : "Enter learns the best label.";
  $("facts").hidden = false;
  $("teaching").hidden = !teaches;
  $("set").hidden = !model.sets;
  $("text-label").textContent = model.text ? "Text" : "Features";
  $("text-hint").append(model.text ? "" : `Pairs such as ${model.names ? "name:1 space^other:0.5" : "3:1 17:0.5"}. `,
    teaches ? make("span", { class: "keys" }, `${enter} Shift Enter starts a new line.`) : "This model is read-only.");
  rows = Array.from({ length: SUGGESTED }, makeRow);
  $("suggested").append(...rows.map(({ item }) => item));
  $("text").oninput = () => suggest(TYPING_PAUSE);
  if (teaches) {
    $("text").onkeydown = onTextKey;
    document.onkeydown = onShortcut;
    $("learn-set").onclick = () => learn([...chosen.values()]);
    $("other").oninput = () => search(TYPING_PAUSE);
    $("other").onkeydown = onOptionKey;
    $("other").onblur = closeOptions;
    $("options").onpointerdown = (event) => event.preventDefault(); // keeps the focus in the box
  }
  new ResizeObserver(drawProgress).observe($("curve"));
  suggest(TYPING_PAUSE);
  follow(() => request("v1/progress", {}, 1), showModel);
}

start();
