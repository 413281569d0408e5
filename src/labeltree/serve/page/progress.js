// How the model does: its error, how sure it was, and what it learned last, as the server streams it.
// The helpers that page.js uses too are here, so that page.js imports this file and this file imports nothing.

const LISTED = 8, REMEMBERED = 1000;
const HOUR = 3600; // s
export const LONGEST_WAIT = 30; // s

export const $ = (id) => document.getElementById(id);
export const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
export const percent = (share) => share > 0 && share < 0.0005 ? "<0.1%" : `${(100 * share).toFixed(share < 0.0995 || (share > 0.99 && share < 1) ? 1 : 0)}%`;
const clock = (time) => new Date(1000 * time).toTimeString().slice(0, 8);
export const make = (tag, ...rest) => build(document.createElement(tag), ...rest);
const draw = (tag, ...rest) => build(document.createElementNS("http://www.w3.org/2000/svg", tag), ...rest);

export function build(element, attributes = {}, ...children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const pause = (ms, signal) => new Promise((resolve, reject) => {
  setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => reject(signal.reason));
});

const points = [], lessons = []; // oldest first
let drawing = 0;

function onEvent(event, data, showModel) {
  const news = JSON.parse(data);
  if (event === "progress" && !(news.time <= points.at(-1)?.time)) { // each new connection starts with the last hour
    points.push(news);
    while (points[0].time < news.time - HOUR) points.shift();
    showModel({ examples: news.examples, labels: news.labels });
    $("learn-rate").textContent = number(news.learn_rate);
    $("predict-rate").textContent = number(news.predict_rate);
  } else if (event === "learned" && !lessons.some((lesson) => lesson.data === data)) {
    lessons.push({ ...news, data });
    if (lessons.length > REMEMBERED) lessons.shift();
  }
  drawing ||= requestAnimationFrame(drawProgress);
}

// EventSource cannot send a token, so the stream is read by hand. What connect throws is a refusal if it has a status.
export async function follow(connect, showModel) {
  for (let wait = 1; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    try {
      const reader = (await connect()).body.pipeThrough(new TextDecoderStream()).getReader();
      $("stream").textContent = "";
      for (let unread = "", read; !(read = await reader.read()).done; wait = 0.5) {
        const blocks = (unread + read.value).split(/\r\n\r\n|\n\n|\r\r/);
        unread = blocks.pop();
        for (const block of blocks) {
          const [, event] = block.match(/^event: ?(.*)$/m) ?? [], [, data] = block.match(/^data: ?(.*)$/m) ?? [];
          if (data) onEvent(event, data, showModel);
        }
      }
    } catch (error) {
      if (!("status" in error || error instanceof TypeError)) throw error;
    }
    $("stream").textContent = "The connection is lost. Connecting again.";
    await pause(1000 * wait * (1 + Math.random()));
  }
}

export function drawProgress() {
  drawing = 0;
  drawCurve($("curve"));
  const bins = { right: Array(10).fill(0), wrong: Array(10).fill(0) };
  for (const { score, right } of lessons) {
    if (right != null && score != null) bins[right ? "right" : "wrong"][Math.min(Math.floor(10 * score), 9)]++;
  }
  const highest = Math.max(...bins.right, ...bins.wrong, 1);
  for (const name of ["right", "wrong"]) {
    $(`${name}-count`).textContent = number(bins[name].reduce((a, b) => a + b));
    $(`${name}-bars`).replaceChildren(...bins[name].map((bin, at) => make("span", { "--share": bin / highest },
      make("span", { class: "unseen" }, `${bin} from ${10 * at} to ${10 * at + 10}%. `))));
  }
  $("learned").replaceChildren(...lessons.slice(-LISTED).reverse().map(({ time, text, labels, predicted, score, right }) => {
    const [mark, word] = right == null ? ["–", "not predicted"] : right ? ["✓", "right"] : ["✗", "wrong"];
    const said = `${right === false ? ` not ${predicted}` : ""}${score == null ? "" : ` ${percent(score)}`}`;
    return make("li", { class: word }, make("span", { class: "mark", role: "img", "aria-label": word }, mark),
      make("p", {}, make("b", {}, labels.join(", ")), said), make("time", {}, clock(time)), make("q", {}, text ?? ""));
  }));
}

function drawCurve(svg) {
  const lines = [["recent", "recent_error"], ["total", "error"]].map(([name, field]) => {
    const values = points.filter((point) => point[field] != null).map((point) => ({ time: point.time, error: point[field] }));
    return { name, values, last: values.at(-1)?.error };
  }).filter(({ values }) => values.length).sort((a, b) => b.last - a.last);
  if (!lines.length) return;
  const left = 42, right = svg.clientWidth - 90, top = 8, bottom = svg.clientHeight - 24;
  const errors = lines.flatMap(({ values }) => values.map(({ error }) => error)).sort((a, b) => a - b);
  const span = Math.max(errors.at(-1) - errors[0], 0.01), ten = 10 ** Math.floor(Math.log10(span));
  const step = ten * [0.2, 0.5, 1, 2].find((size) => span / (size * ten) <= 5);
  const low = Math.floor(errors[0] / step) * step, high = Math.max(Math.ceil(errors.at(-1) / step) * step, low + step);
  const start = points[0].time, end = Math.max(points.at(-1).time, start + 1);
  const x = (time) => left + (right - left) * (time - start) / (end - start);
  const y = (error) => bottom - (bottom - top) * (error - low) / (high - low);
  const digits = end - start < 600 ? 8 : 5; // with seconds, or without
  const parts = [draw("text", { x: left, y: bottom + 18 }, clock(start).slice(0, digits)),
    draw("text", { x: right, y: bottom + 18, "text-anchor": "end" }, clock(end).slice(0, digits))];
  for (let tick = low; tick < high + step / 2; tick += step) {
    parts.push(draw("path", { class: "grid", d: `M${left} ${y(tick)}H${right}` }),
      draw("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, `${+(100 * tick).toFixed(2)}%`));
  }
  const crowd = lines.length === 2 ? Math.max(8 - (y(lines[1].last) - y(lines[0].last)) / 2, 0) : 0; // keeps the names apart
  lines.forEach(({ name, values, last }, place) => parts.push(
    draw("polyline", { class: name, points: values.map(({ time, error }) => `${x(time).toFixed(1)},${y(error).toFixed(1)}`).join(" ") }),
    draw("text", { class: name, x: right + 6, y: y(last) + 4 + (place ? crowd : -crowd) }, `${name} ${percent(last)}`)));
  svg.replaceChildren(...parts);
  svg.setAttribute("aria-label", `${lines.map(({ name, last }) => `${name} error ${percent(last)}`).join(", ")}.`);
}
