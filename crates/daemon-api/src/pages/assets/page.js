// Keeps a page up to date. Every page is whole without it.
"use strict";
(() => {
  // How long changes of a run are collected, in milliseconds.
  const PAUSE = 500;
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
  // What was scrolled to its end stays there.
  const atEnd = (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 4;

  // Reads the page again when its run goes on, so that only the host renders it.
  function follow(url) {
    const output = document.getElementById("output");
    if (output) output.scrollTop = output.scrollHeight;
    let due = null;
    const soon = () => {
      due ??= setTimeout(async () => {
        await refresh();
        due = null;
      }, PAUSE);
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
    source.onmessage = soon;
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
        say("This page is not live any more; load it again.");
      };
      source.addEventListener("changed", refresh);
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
    if (time.dataset.exact !== undefined) return;
    time.title ||= time.textContent;
    const seconds = Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (Number.isNaN(seconds)) return;
    const text = seconds >= 0 ? `${ago(seconds)} ago` : `in ${ago(-seconds)}`;
    if (time.textContent !== text) time.textContent = text;
  }
  function age(part) {
    for (const time of part.querySelectorAll("time[datetime]")) relative(time);
    for (const place of part.querySelectorAll("[data-age]")) {
      place.dataset.since = String(Date.now() - Number(place.dataset.age) * 1000);
    }
  }
  function grow() {
    for (const time of main.querySelectorAll("time[datetime]")) relative(time);
    for (const place of main.querySelectorAll("[data-since]")) {
      const text = ago(Math.max(0, Math.floor((Date.now() - Number(place.dataset.since)) / 1000)));
      if (place.textContent !== text) place.textContent = text;
    }
  }
  // The parts of the page as the host rendered them, before the script changed what they show.
  let parts = [...main.children].map((part) => part.outerHTML);
  // Each rendering gives a form another id, which does not make it another form.
  const plain = (html) => html.replace(/name="request" value="[^"]*"/g, "");
  // Replaces the parts that differ. One that is being used stays as it is until the next time.
  function patch(fresh) {
    // What an action did is shown once by the host, and stays until the page is left.
    const done = main.querySelector(":scope > .notice.good");
    if (done && !fresh.querySelector(":scope > .notice.good")) {
      fresh.insertBefore(done.cloneNode(true), fresh.children[[...main.children].indexOf(done)] ?? null);
    }
    const next = [...fresh.children];
    const html = next.map((part) => part.outerHTML);
    const old = [...main.children];
    const state = live?.textContent;
    if (next.length !== old.length) {
      main.replaceChildren(...next.map((part) => document.adoptNode(part)));
      parts = html;
    } else {
      for (const [n, part] of next.entries()) {
        const selection = getSelection();
        const isUsed = (old[n].contains(document.activeElement) && old[n].matches(".actions, form"))
          || (!selection.isCollapsed && old[n].contains(selection.anchorNode));
        if (plain(html[n]) === plain(parts[n]) || isUsed) continue;
        const boxes = [...old[n].querySelectorAll(".text, .timeline")].map((box) => (atEnd(box) ? Infinity : box.scrollTop));
        const open = [...old[n].querySelectorAll("details")].map((details) => details.open);
        const focused = old[n].contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
        const row = document.adoptNode(part);
        [...row.querySelectorAll("details")].forEach((details, n) => { details.open = open[n] ?? details.open; });
        old[n].replaceWith(row);
        [...row.querySelectorAll(".text, .timeline")].forEach((box, n) => { box.scrollTop = Math.min(boxes[n] ?? 0, box.scrollHeight); });
        if (focused) [...row.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus();
        parts[n] = html[n];
      }
    }
    const place = document.getElementById("live");
    if (live && place && place !== live) place.replaceWith(live);
    if (live && state) live.textContent = state;
    age(main);
    copyable();
  }
  async function refresh() {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      if (fresh) patch(fresh);
    } catch {
      // The host is away; what is shown stays until it is back.
    }
  }

  // Ids are short in lists; where they are whole, a button copies them.
  function copyable() {
    if (!navigator.clipboard) return;
    for (const place of main.querySelectorAll("[data-copy]:not(:has(+ .copy))")) {
      const button = make("button", "copy", "Copy");
      button.type = "button";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(place.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      place.after(button);
    }
  }

  // Single keys can be switched off, because a program that writes what is spoken would press them.
  function keys() {
    const place = document.getElementById("keys");
    const search = document.querySelector(".search input");
    if (!place || !search) return;
    let are = true;
    try { are = localStorage.getItem("keys") !== "off"; } catch { /* The browser keeps nothing. */ }
    const button = make("button", "copy");
    const tell = () => { button.textContent = are ? "Switch off" : "Switch on"; };
    button.type = "button";
    button.addEventListener("click", () => {
      are = !are;
      try { localStorage.setItem("keys", are ? "on" : "off"); } catch { /* As above. */ }
      tell();
    });
    tell();
    place.append(" Keys: ", make("kbd", "", "/"), " search, ", make("kbd", "", "j"), " ", make("kbd", "", "k"), " next and previous row. ", button);
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
      if (!are || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") {
        event.preventDefault();
        search.focus();
      } else if (event.key === "j" || event.key === "k") {
        const rows = [...main.querySelectorAll("tbody tr a:first-of-type")].filter((a) => a.closest("td") === a.closest("tr").querySelector("td:has(a)"));
        const at = rows.findIndex((a) => a.closest("tr").contains(document.activeElement));
        rows[event.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)]?.focus();
      }
    });
  }

  age(main);
  copyable();
  keys();
  setInterval(grow, 1000);
  if (main.dataset.live !== undefined || main.dataset.watch !== undefined) watch();
  if (main.dataset.follow) follow(main.dataset.follow);
  if (main.dataset.renew) renew(Number(main.dataset.renew));
})();
