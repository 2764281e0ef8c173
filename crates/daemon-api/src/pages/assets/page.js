// Keeps a page up to date. Every page is whole without it.
"use strict";
(() => {
  const MOST_LINES = 1000;
  const MOST_STEPS = 500;
  const MOST_WAITING = 2000;
  const main = document.querySelector("main");
  if (!main) return;

  // The same characters that the host makes visible in what it renders.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
  const code = (c) => c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const visible = (text) => text.replace(HIDDEN, (c) => `\u27e8U+${code(c)}\u27e9`);
  const moment = (text) => visible(text.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC"));
  const span = (seconds) => {
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    const whole = Math.floor(seconds);
    const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
    const parts = hours > 0 ? [[hours, "h"], [minutes, "min"]] : [[minutes, "min"], [rest, "s"]];
    return parts.filter(([n]) => n > 0).map(([n, unit]) => `${n} ${unit}`).join(" ");
  };
  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const bound = (list, most) => {
    while (list.children.length > most) list.firstElementChild.remove();
  };
  // What was scrolled to its end stays there.
  const atEnd = (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
  const stay = (box, add) => {
    const follows = atEnd(box);
    add();
    if (follows) box.scrollTop = box.scrollHeight;
  };

  function follow(url) {
    const output = document.getElementById("output");
    const timeline = document.getElementById("timeline");
    let waiting = [];
    let skipped = 0;
    if (output) output.scrollTop = output.scrollHeight;

    const printed = (line) => {
      const told = /^stream=(\S+) text=([^]*?)(?: elapsed_s=[\d.e+-]+)?(?: truncated=true)?$/.exec(line.detail);
      if (!told || !output) return;
      const isError = told[1] === "stderr";
      const span = make("span", isError ? "line stderr" : "line");
      if (isError) span.append(make("b", "", "stderr"), " ");
      span.append(visible(told[2]), "\n");
      output.append(span);
    };
    const step = (line) => {
      const last = timeline.lastElementChild;
      if (line.kind === "cli_output" && last && last.classList.contains("group")) {
        const list = last.querySelector("ol");
        list.append(make("li", "detail", visible(line.detail)));
        const count = last.querySelector(".count");
        count.textContent = String(Number(count.textContent) + 1);
        bound(list, MOST_STEPS);
        return;
      }
      const item = make("li");
      item.append(make("span", "at", moment(line.at)), " ");
      if (line.kind === "cli_output") {
        item.className = "group";
        const details = make("details");
        details.open = true;
        const summary = make("summary");
        summary.append(make("span", "kind", line.kind), " ", make("span", "count", "1"));
        const list = make("ol");
        list.append(make("li", "detail", visible(line.detail)));
        details.append(summary, list);
        item.append(details);
      } else {
        const box = make("div");
        box.append(make("span", "kind", visible(line.kind)), " ", make("span", "detail", visible(line.detail)));
        item.append(box);
      }
      timeline.append(item);
      bound(timeline, MOST_STEPS);
    };
    const draw = () => {
      const lines = waiting;
      waiting = [];
      const add = () => {
        for (const line of lines) {
          if (line.kind === "cli_output") printed(line);
          step(line);
        }
        if (output) bound(output, MOST_LINES);
      };
      if (output) stay(output, add); else add();
      say(skipped > 0 ? `Live. ${skipped} lines came too fast to be shown.` : "Live.");
    };
    const member = (name, text) => {
      const place = main.querySelector(`[data-member="${name}"]`);
      if (place) place.textContent = text;
    };

    const source = new EventSource(url);
    source.onopen = () => say("Live.");
    source.onerror = () => say(source.readyState === EventSource.CLOSED
      ? "The host no longer answers; load this page again."
      : "The host does not answer; trying again.");
    source.onmessage = (message) => {
      if (waiting.length === 0) setTimeout(draw, 100);
      waiting.push(JSON.parse(message.data));
      if (waiting.length > MOST_WAITING) {
        waiting.shift();
        skipped += 1;
      }
    };
    let began = null;
    source.addEventListener("run", (message) => {
      const run = JSON.parse(message.data);
      began = Date.now() - run.elapsed_s * 1000;
      member("current_tool", visible(run.current_tool ?? "none"));
      member("tool_call_count", run.tool_call_count.toLocaleString("en"));
      member("turn", String(run.turn));
      if (run.last_output_at) member("last_output_at", moment(run.last_output_at));
    });
    const clock = setInterval(() => {
      if (began !== null) member("elapsed_s", span((Date.now() - began) / 1000));
    }, 1000);
    source.addEventListener("end", () => {
      source.close();
      clearInterval(clock);
      draw();
      say("The run has ended.");
      location.reload();
    });
  }

  function renew(seconds) {
    setInterval(() => {
      if (!document.hidden && !main.contains(document.activeElement)) refresh();
    }, seconds * 1000);
  }

  const live = document.getElementById("live");
  const say = (text) => { if (live) live.textContent = text; };

  // A row that changes is replaced as the host renders it.
  function rowOf(html) {
    const page = new DOMParser().parseFromString(`<table><tbody>${html}</tbody></table>`, "text/html");
    return document.adoptNode(page.querySelector("tr"));
  }

  // Returns whether the list could be changed in place; one that was empty has no table yet.
  function apply(change) {
    const bodies = [...main.querySelectorAll("tbody[data-table]")];
    const body = bodies.find((body) => body.dataset.table === change.table);
    if (!body || change.order.length === 0) return !body && change.order.length === 0;
    const known = new Map([...body.children].map((row) => [row.dataset.row, row]));
    const kept = new Set(change.order);
    for (const [key, row] of known) if (!kept.has(key)) row.remove();
    let place = body.firstElementChild;
    for (const key of change.order) {
      const old = known.get(key);
      let row = old;
      if (change.rows[key] !== undefined) {
        row = rowOf(change.rows[key]);
        age(row);
        if (old && old.isEqualNode(row)) row = old;
      }
      if (!row) return false;
      if (row !== old) {
        row.classList.add("fresh");
        const focused = old && old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
        if (old) {
          if (old === place) place = row;
          old.replaceWith(row);
        }
        if (focused) [...row.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus();
      }
      if (row !== place) body.insertBefore(row, place);
      else place = place.nextElementSibling;
    }
    return true;
  }

  function note(notices) {
    const place = document.getElementById("notices");
    const shown = [...place.children].map((notice) => notice.textContent);
    if (shown.join("\n") === notices.join("\n")) return;
    place.replaceChildren(...notices.map((text) => make("p", "notice words", text)));
  }

  function watch() {
    let source = null;
    let isFirst = true;
    const open = () => {
      source = new EventSource(location.href.split("#")[0]);
      source.onopen = () => say("Live.");
      source.onerror = () => {
        if (source.readyState !== EventSource.CLOSED) return say("The host does not answer; trying again.");
        say("This list is not live any more; load the page again.");
      };
      source.addEventListener("rows", (message) => {
        const { tables, notices } = JSON.parse(message.data);
        note(notices);
        const isWhole = tables.map(apply).every(Boolean);
        if (!isWhole) refresh();
        if (isFirst) for (const row of main.querySelectorAll(".fresh")) row.classList.remove("fresh");
        isFirst = false;
      });
    };
    // A browser has few connections to one host, so only what is looked at keeps one.
    const look = () => {
      if (document.hidden) {
        source?.close();
        source = null;
      } else if (!source) {
        open();
      }
    };
    document.addEventListener("visibilitychange", look);
    addEventListener("pagehide", () => { source?.close(); source = null; });
    addEventListener("pageshow", look);
    look();
  }

  // Durations that grow while the page is open.
  const ago = (seconds) => {
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  };
  // Instants are relative, with the exact one on hover.
  function relative(time) {
    time.title ||= time.textContent;
    const seconds = Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (Number.isNaN(seconds)) return;
    const text = seconds >= 0 ? `${ago(seconds)} ago` : `in ${ago(-seconds)}`;
    if (time.textContent !== text) time.textContent = text;
  }
  function age(part) {
    for (const time of part.querySelectorAll(".rows time[datetime], tr time[datetime]")) relative(time);
    for (const place of part.querySelectorAll("[data-age]")) {
      place.dataset.since = String(Date.now() - Number(place.dataset.age) * 1000);
    }
  }
  function grow() {
    for (const time of main.querySelectorAll(".rows time[datetime]")) relative(time);
    for (const place of main.querySelectorAll("[data-since]")) {
      const text = ago(Math.max(0, Math.floor((Date.now() - Number(place.dataset.since)) / 1000)));
      if (place.textContent !== text) place.textContent = text;
    }
  }
  async function refresh() {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      if (!fresh) return;
      const state = live?.textContent;
      main.replaceChildren(...fresh.children);
      const place = document.getElementById("live");
      if (place && state) {
        place.textContent = state;
        place.replaceWith(live);
        live.textContent = state;
      }
      age(main);
    } catch {
      // The host is away; what is shown stays until it is back.
    }
  }

  age(main);
  setInterval(grow, 1000);
  if (main.dataset.live !== undefined) watch();
  if (main.dataset.follow) follow(main.dataset.follow);
  if (main.dataset.renew) renew(Number(main.dataset.renew));
})();
