"use strict";
// Draws what /network.json says, once a second. Texts of sites only ever become text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const POLL_MILLISECONDS = 1000;
const byId = (id) => document.getElementById(id);

function made(space, name, attributes, text) {
  const element = space ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
const svg = (name, attributes = {}, text) => made(true, name, attributes, text);
const html = (name, attributes = {}, text) => made(false, name, attributes, text);

// --- Words and numbers ---------------------------------------------------------------------------
const missing = (value) => value === null || value === undefined;
const small = (value) => (missing(value) ? "–" : value === 0 ? "0" : value >= 0.01 ? value.toPrecision(2) : value.toExponential(1));
const share = (value) => (missing(value) ? "–" : (100 * value).toFixed(2) + " %");
const whole = (value) => (missing(value) ? "–" : Math.round(value).toLocaleString("en"));

function span(seconds) {
  if (missing(seconds)) return "–";
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]])
    if (seconds >= 2 * length) return Math.round(seconds / length) + " " + unit;
  return Math.round(seconds) + " s";
}

function size(bytes) {
  if (missing(bytes)) return "–";
  for (const unit of ["B", "kB", "MB"]) {
    if (bytes < 1000) return bytes.toFixed(unit === "B" ? 0 : 1) + " " + unit;
    bytes /= 1000;
  }
  return bytes.toFixed(1) + " GB";
}

function stateOf(site) {
  if (!site.running) return "down";
  return site.agreed ? "agreed" : site.content ? "content" : "learning";
}

// Hues a golden angle apart: neighbours in the list never look alike, however many there are.
function colour(number) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return `hsl(${(212 + 137.5 * number) % 360} 62% ${dark ? 66 : 45}%)`;
}

// --- The network ---------------------------------------------------------------------------------
function drawNetwork(sites) {
  const states = new Map(sites.map((site) => [site.name, stateOf(site)]));
  for (const site of sites)
    for (const link of site.links) if (!states.has(link.name)) states.set(link.name, "unwatched");
  const names = [...states.keys()];
  const place = new Map(names.map((name, k) => {
    const angle = (2 * Math.PI * k) / names.length - Math.PI / 2;
    return [name, { x: 280 + 175 * Math.cos(angle), y: 228 + 165 * Math.sin(angle), angle }];
  }));
  const talking = new Map();  // both ends have a say: a link talks if each that is watched hears
  for (const site of sites)
    for (const link of site.links) {
      const pair = JSON.stringify([site.name, link.name].sort());
      const heard = site.running && Boolean(link.connected) && states.get(link.name) !== "down";
      talking.set(pair, (talking.get(pair) ?? true) && heard);
    }
  const drawn = [];
  for (const [pair, talks] of talking) {
    const [one, other] = JSON.parse(pair).map((name) => place.get(name));
    drawn.push(svg("line", {
      x1: one.x, y1: one.y, x2: other.x, y2: other.y, class: talks ? "link" : "link silent",
    }));
  }
  const radius = names.length > 24 ? 7 : 13;
  for (const name of names) {
    const { x, y, angle } = place.get(name);
    const group = svg("g", { class: `node ${states.get(name)}` });
    const side = Math.cos(angle);
    const anchor = side > 0.25 ? "start" : side < -0.25 ? "end" : "middle";
    const out = radius + 9;
    const down = anchor === "middle" ? (Math.sin(angle) > 0 ? 12 : -14) : 8 * Math.sin(angle);
    group.append(svg("circle", { cx: x, cy: y, r: radius }));
    const label = { x: x + out * side, y: y + out * Math.sin(angle) + down, "text-anchor": anchor };
    const shown = name.length > 18 ? name.slice(0, 17) + "…" : name;
    group.append(svg("text", { ...label, class: "name" }, shown));
    group.append(svg("text", { ...label, y: label.y + 14, class: "soft" }, states.get(name)));
    group.append(svg("title", {}, `${name}: ${states.get(name)}`));
    drawn.push(group);
  }
  byId("network").replaceChildren(...drawn);
}

// --- Courses over time ---------------------------------------------------------------------------
const FRAME = { left: 62, right: 628, top: 10, bottom: 186 };

function drawCourses(id, sites, column, now, logarithmic) {
  const series = sites.map((site) =>
    site.history.filter((p) => !missing(p[column]) && (!logarithmic || p[column] > 0)).map((p) => [p[0], p[column]]));
  const points = series.flat();
  const chart = byId(id);
  if (points.length === 0) {
    chart.replaceChildren(svg("text", { x: 320, y: 104, class: "soft", "text-anchor": "middle" }, "nothing measured yet"));
    return;
  }
  const first = Math.min(...points.map((p) => p[0]), now - 10);
  const values = points.map((p) => p[1]);
  const scale = logarithmic ? logarithmicScale(values) : linearScale(values);
  const x = (time) => FRAME.left + ((FRAME.right - FRAME.left) * (time - first)) / (now - first);
  const y = (value) => FRAME.bottom - (FRAME.bottom - FRAME.top) * scale.part(value);
  const drawn = [];
  for (const [value, text] of scale.ticks) {
    drawn.push(svg("line", { x1: FRAME.left, x2: FRAME.right, y1: y(value), y2: y(value), class: "grid" }));
    drawn.push(svg("text", { x: FRAME.left - 8, y: y(value) + 4, "text-anchor": "end", class: "soft" }, text));
  }
  for (const part of [0, 0.5, 1]) {
    const ago = (1 - part) * (now - first);
    const place = { x: x(first + part * (now - first)), y: 206, class: "soft" };
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    drawn.push(svg("text", { ...place, "text-anchor": anchor }, part === 1 ? "now" : `${span(ago)} ago`));
  }
  series.forEach((each, k) => {
    if (each.length === 0) return;
    const way = each.map((p) => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" ");
    const line = svg("polyline", { points: way, class: "course", stroke: colour(k) });
    line.append(svg("title", {}, sites[k].name));
    drawn.push(line);
  });
  chart.replaceChildren(...drawn);
}

function logarithmicScale(values) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(Math.ceil(Math.log10(Math.max(...values))), low + 1);
  const step = Math.ceil((high - low) / 5);
  const ticks = [];
  for (let power = low; power <= high; power += step)
    ticks.push([10 ** power, power >= -2 && power <= 2 ? String(Number((10 ** power).toFixed(2))) : `1e${power}`]);
  return { ticks, part: (value) => (Math.log10(value) - low) / (high - low) };
}

function linearScale(values) {
  let low = Math.min(...values), high = Math.max(...values);
  const room = Math.max(0.1 * (high - low), 0.005);
  low = Math.max(0, low - room);
  high = Math.min(1, high + room);
  const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((s) => (high - low) / s <= 5) ?? 1;
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + 1e-9; tick += step)
    ticks.push([tick, (100 * tick).toFixed(step < 0.01 ? 1 : 0) + " %"]);
  return { ticks, part: (value) => (value - low) / (high - low) };
}

// --- Figures and table ---------------------------------------------------------------------------
function drawFigures(sites) {
  const up = sites.filter((site) => site.running);
  const worst = (key) => up.map((site) => site[key]).filter((value) => !missing(value)).reduce((a, b) => Math.max(a, b), -Infinity);
  const lowest = (key) => up.map((site) => site[key]).filter((value) => !missing(value)).reduce((a, b) => Math.min(a, b), Infinity);
  const known = (value) => (Number.isFinite(value) ? value : null);
  const figures = [
    [`${up.length} of ${sites.length}`, "sites running"],
    [`${up.filter((site) => site.agreed).length} of ${sites.length}`, "agreed"],
    [small(known(worst("distance"))), "largest disagreement"],
    [small(known(worst("estimated_gap"))), "largest gap"],
    [share(known(lowest("training_accuracy"))), "lowest accuracy"],
    [whole(known(worst("rounds"))), "rounds"],
  ];
  byId("figures").replaceChildren(...figures.map(([value, meaning]) => {
    const figure = html("div", { class: "figure" });
    figure.append(html("b", {}, value), html("span", {}, meaning));
    return figure;
  }));
}

function drawTable(sites) {
  byId("sites").replaceChildren(...sites.map((site, k) => {
    const row = html("tr");
    const name = html("td");
    const swatch = html("span", { class: "swatch" });
    swatch.style.background = colour(k);
    name.append(swatch, site.name);
    const state = html("td");
    state.append(html("span", { class: `word ${stateOf(site)}` }, stateOf(site)));
    row.append(name, state);
    const hearing = site.links.filter((link) => link.connected).length;
    const rejected = site.links.reduce((sum, link) => sum + (link.rejected || 0), 0);
    const traffic = missing(site.bytes_sent) ? null : site.bytes_sent + site.bytes_received;
    for (const text of [
      whole(site.n_rows), whole(site.rounds), small(site.estimated_gap), small(site.distance),
      share(site.training_accuracy), `${hearing} of ${site.links.length}`, whole(rejected),
      size(traffic), site.running ? span(site.uptime_seconds) : "–",
    ]) row.append(html("td", { class: "number" }, text));
    return row;
  }));
}

// --- Polling -------------------------------------------------------------------------------------
let last = null;

function draw(view) {
  drawFigures(view.sites);
  drawNetwork(view.sites);
  drawCourses("disagreement", view.sites, 2, view.time, true);
  drawCourses("accuracy", view.sites, 3, view.time, false);
  drawTable(view.sites);
}

async function poll() {
  const state = byId("state");
  try {
    const answer = await fetch("network.json");
    last = await answer.json();
    draw(last);
    state.className = "";
    state.textContent = `read-only, as of ${new Date(1000 * last.time).toLocaleTimeString()}`;
  } catch (error) {
    state.className = "lost";
    state.textContent = "The watching process does not answer: start it again, or close this page.";
  }
  setTimeout(poll, POLL_MILLISECONDS);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (last) draw(last); });
poll();
