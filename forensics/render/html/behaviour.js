"use strict";
// Everything here is a convenience: without it the page says the same. Texts are only ever set as text.
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  all(".controls, .copy, .tools, .keys").forEach((one) => { one.hidden = false; });

  // Colours: as the system has them, light, dark.
  const themes = ["auto", "light", "dark"];
  const names = { auto: "as the system has them", light: "light", dark: "dark" };
  const button = $("#theme");
  const kept = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (name) => { try { localStorage.setItem("theme", name); } catch { /* a private window keeps nothing */ } } };
  const wear = (name) => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    button.textContent = `Theme: ${name}`;
    button.setAttribute("aria-label", `Colours: ${names[name]}`);
    button.value = name;
  };
  wear(themes.includes(kept.get()) ? kept.get() : "auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.value) + 1) % themes.length];
    wear(next); kept.set(next);
  });

  // Folding: all at once, for print, and around what a link leads to.
  const folds = all("details");
  const unfold = $("#unfold");
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    folds.forEach((one) => { one.open = open; });
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });
  let before = [];
  addEventListener("beforeprint", () => { before = folds.map((one) => one.open); folds.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => folds.forEach((one, index) => { one.open = before[index]; }));
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let up = target; up; up = up.parentElement) if (up.localName === "details") up.open = true;
    target.scrollIntoView();
    if (target.hasAttribute("tabindex")) target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Copying.
  const copied = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* a page from disk may not */ }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  all(".copy").forEach((one) => one.addEventListener("click", async () => {
    const cited = all(".row.cited", document.getElementById(one.dataset.copy));
    const text = cited.length ? cited.map((row) => row.textContent).join("") : document.getElementById(one.dataset.copy).textContent;
    one.textContent = await copied(text.replace(/\n$/, "")) ? "Copied" : "Not copied";
    setTimeout(() => { one.textContent = "Copy"; }, 1500);
  }));

  // Where in the page the reader is.
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
      if (!entry.isIntersecting) return;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }), { rootMargin: "-15% 0px -75% 0px" });
    all("main > section").forEach((section) => seen.observe(section));
  }

  const tip = $("#tip");
  const say = (text, x, y) => { // x and y in the window; the tip lies in the page, so it goes along where that scrolls
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = "0"; // measured where nothing makes it narrow
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${scrollX + Math.max(8, Math.min(x + 12, innerWidth - width - 8))}px`;
    tip.style.top = `${scrollY + (y + 18 + height > innerHeight ? Math.max(8, y - height - 12) : y + 18)}px`;
  };
  const hush = () => { tip.hidden = true; };
  const make = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };

  // Plots: the nearest value under the pointer, or with the arrows.
  all("svg[data-points]").forEach((svg) => {
    const points = JSON.parse(svg.dataset.points);
    const curves = JSON.parse(svg.dataset.names);
    const cross = make("g", { visibility: "hidden" });
    const lineup = make("path", { class: "cross" });
    const dot = make("circle", { class: "dot", r: 3.5 });
    cross.append(lineup, dot);
    svg.append(cross);
    svg.tabIndex = 0;
    const order = points.map((_, index) => index).sort((a, b) => points[a][0] - points[b][0]);
    let at = -1;
    const show = (index) => {
      at = index;
      const [x, y, curve, where, value, line] = points[index];
      const box = svg.getBoundingClientRect();
      lineup.setAttribute("d", `M${x} 26V178`);
      dot.setAttribute("cx", x); dot.setAttribute("cy", y);
      cross.setAttribute("visibility", "visible");
      say(`${value}  at ${where}\n${curves.length > 1 ? `${curves[curve]}, ` : ""}line ${line}`, box.left + x / 460 * box.width, box.top + y / 210 * box.height);
    };
    const hide = () => { cross.setAttribute("visibility", "hidden"); hush(); };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width * 460, (event.clientY - box.top) / box.height * 210];
      let [best, near] = [-1, Infinity];
      points.forEach((point, index) => {
        const distance = Math.abs(point[0] - x) * 4 + Math.abs(point[1] - y);
        if (distance < near) [best, near] = [index, distance];
      });
      if (best >= 0) show(best);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (move === undefined) return event.key === "Escape" && hide();
      const now = order.indexOf(at);
      show(order[Math.max(0, Math.min(order.length - 1, now < 0 ? (move > 0 ? 0 : order.length - 1) : now + move))]);
      event.preventDefault();
      return undefined;
    });
  });

  // The timeline: what is drawn is laid out anew for the part of the axis that is looked at.
  const lanes = $("#lanes");
  if (!lanes) return;
  const frame = lanes.parentElement;
  const [LOW, HIGH] = [Number(lanes.dataset.low), Number(lanes.dataset.high)];
  const clocked = lanes.dataset.clock === "1";
  const height = lanes.viewBox.baseVal.height;
  const spots = all(".spot[data-at]", lanes).map((one) => ({
    one, at: Number(one.dataset.at), until: Number(one.dataset.until ?? one.dataset.at), path: $("path", one), lane: one.parentElement.parentElement }));
  const moments = all(".moment[data-at]", lanes).map((one) => ({ at: Number(one.dataset.at), path: $("path", one) }));
  const marks = spots.filter(({ path }) => path);
  const rows = all(".lane", lanes);
  let [low, high] = [LOW, HIGH];
  let gutter = 118;
  let wide = 900;

  const label = (at, span) => {
    if (!clocked) return Math.round(at).toLocaleString("en");
    const text = new Date(at * 1000).toISOString();
    return span > 172800 ? text.slice(5, 16).replace("T", " ") : span < 3 ? text.slice(11, 23) : text.slice(11, span < 7200 ? 19 : 16);
  };
  const steps = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const ticks = (most) => {
    const span = high - low;
    const power = 10 ** Math.floor(Math.log10(span / most));
    const step = clocked ? steps.find((one) => span / one <= most) ?? Math.ceil(span / most / 604800) * 604800
      : Math.max(1, [1, 2, 5, 10].map((one) => one * power).find((one) => span / one <= most) ?? span);
    const found = [];
    for (let n = Math.ceil(low / step); n * step <= high && found.length <= most; n += 1) found.push(n * step);
    return found;
  };
  const x = (at) => gutter + 10 + (at - low) / (high - low) * (wide - gutter - 26);
  const lay = () => {
    spots.forEach(({ one, at, until, path }) => {
      if (path) path.setAttribute("transform", `translate(${x(at).toFixed(1)} 0)`);
      else {
        const [from, to] = [Math.max(x(at), gutter - 20), Math.min(x(until), wide + 20)];
        one.setAttribute("x", from.toFixed(1)); one.setAttribute("width", Math.max(2, to - from).toFixed(1));
        one.setAttribute("visibility", x(until) < gutter - 20 || x(at) > wide + 20 ? "hidden" : "visible");
      }
    });
    moments.forEach(({ at, path }) => {
      path.setAttribute("transform", `translate(${x(at).toFixed(1)} 0)`);
      path.setAttribute("visibility", at < low || at > high ? "hidden" : "visible");
    });
    $("#axis").replaceChildren(...ticks(Math.max(2, Math.floor((wide - gutter) / 110))).filter((at) => x(at) < wide - 36).map((at) => {
      const group = make("g", { transform: `translate(${x(at).toFixed(1)} 0)` });
      const text = make("text", { y: 14, "text-anchor": "middle" });
      text.textContent = label(at, high - low);
      group.append(make("path", { d: `M0 22V${height - 8}` }), text);
      return group;
    }));
  };
  const fit = () => {
    wide = Math.max(300, frame.clientWidth);
    gutter = wide < 560 ? 84 : 118;
    lanes.setAttribute("viewBox", `0 0 ${wide} ${height}`);
    lanes.setAttribute("width", wide);
    $("#window").setAttribute("x", gutter); $("#window").setAttribute("width", wide - gutter - 4);
    rows.forEach((lane) => {
      $(".base", lane).setAttribute("d", `M${gutter} 0H${wide - 6}`);
      const name = $(".name", lane);
      name.setAttribute("x", gutter - 8); name.classList.toggle("small", wide < 560);
    });
    lay();
  };
  const least = clocked ? 0.002 : 2;
  const look = (from, to) => {
    const span = Math.max(least, Math.min(HIGH - LOW, to - from));
    low = Math.max(LOW, Math.min(HIGH - span, from));
    high = low + span;
    hush(); lay();
  };
  const zoom = (factor, centre = (low + high) / 2) => look(centre - (centre - low) * factor, centre + (high - centre) * factor);
  const pan = (share) => look(low + (high - low) * share, high + (high - low) * share);
  const failing = () => {
    const at = moments[0].at;
    const near = marks.map((mark) => Math.abs(mark.at - at)).filter((gap) => gap > 0).sort((a, b) => a - b);
    const span = Math.min(HIGH - LOW, Math.max(least * 5, 2.6 * (near[Math.min(5, near.length - 1)] ?? (HIGH - LOW) / 20)));
    look(at - span / 2, at + span / 2);
  };
  const actions = { in: () => zoom(0.5), out: () => zoom(2), all: () => look(LOW, HIGH), failure: failing };
  all("[data-zoom]").forEach((one) => one.addEventListener("click", actions[one.dataset.zoom]));
  const under = (clientX) => low + ((clientX - lanes.getBoundingClientRect().left) * (wide / lanes.getBoundingClientRect().width) - gutter - 10) / (wide - gutter - 26) * (high - low);
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.shiftKey) pan(Math.sign(event.deltaY || event.deltaX) * 0.1); else zoom(event.deltaY > 0 ? 1.25 : 0.8, under(event.clientX));
  }, { passive: false });
  let dragged = null;
  lanes.addEventListener("pointerdown", (event) => { if (event.button === 0 && !event.target.closest("a")) dragged = { from: event.clientX, low, high }; });
  addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const moved = (dragged.from - event.clientX) / (wide - gutter - 26) * (dragged.high - dragged.low);
    look(dragged.low + moved, dragged.high + moved);
  });
  addEventListener("pointerup", () => { dragged = null; });

  // One stop for Tab; the arrows go from mark to mark in time, and to the lanes above and below.
  const ordered = [...marks].sort((a, b) => a.at - b.at);
  ordered.forEach(({ one }, index) => one.setAttribute("tabindex", index ? -1 : 0));
  const go = (mark) => {
    if (!mark) return;
    ordered.forEach(({ one }) => one.setAttribute("tabindex", one === mark.one ? 0 : -1));
    if (mark.at < low || mark.at > high) look(mark.at - (high - low) / 2, mark.at + (high - low) / 2);
    mark.one.focus({ preventScroll: false });
  };
  const next = (from, step) => ordered[ordered.indexOf(from) + step];
  const beside = (from, step) => {
    for (let index = rows.indexOf(from.lane) + step; rows[index]; index += step) {
      const own = ordered.filter((mark) => mark.lane === rows[index]);
      if (own.length) return own.reduce((best, mark) => Math.abs(mark.at - from.at) < Math.abs(best.at - from.at) ? mark : best);
    }
    return null;
  };
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const mark = marks.find(({ one }) => one === document.activeElement);
    const action = {
      "+": actions.in, "=": actions.in, "-": actions.out, 0: actions.all, f: moments.length ? failing : null, Escape: hush,
      ArrowLeft: () => mark ? go(next(mark, -1)) : pan(-0.2), ArrowRight: () => mark ? go(next(mark, 1)) : pan(0.2),
      ArrowUp: mark && (() => go(beside(mark, -1))), ArrowDown: mark && (() => go(beside(mark, 1))),
      Home: () => mark ? go(ordered[0]) : look(LOW, LOW + high - low), End: () => mark ? go(ordered.at(-1)) : look(HIGH - high + low, HIGH),
    }[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  spots.forEach(({ one, path }) => {
    const title = $("title", one);
    const text = title.textContent;
    title.remove(); // otherwise the browser shows it as well
    one.addEventListener("pointerenter", (event) => { if (!dragged) say(text, event.clientX, event.clientY); });
    one.addEventListener("pointerleave", hush);
    one.addEventListener("focus", () => {
      const box = path.getBoundingClientRect();
      say(text, box.left + box.width / 2, box.top + box.height / 2);
    });
    one.addEventListener("blur", hush);
  });
  addEventListener("resize", fit);
  fit();
})();
