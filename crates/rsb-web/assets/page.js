// Interactive charts: show the nearest value under the pointer or with the arrow keys, and zoom into a range.
// Every value is also in the table under its chart, and every window is a link, so pages work without this script.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const numbers = (text) => text.split(" ").map(Number);

  // Returns a text for each point, from the table under the chart.
  function pointsOf(figure) {
    const head = [...figure.querySelectorAll("thead th")].map((cell) => cell.textContent);
    return [...figure.querySelectorAll("tbody tr")].map((row) => {
      const cells = [...row.children].map((cell) => cell.textContent);
      return cells.map((text, at) => (text ? head[at] + " " + text : "")).filter(Boolean).join(", ");
    });
  }

  // Returns the text and the run of each point of a chart over the runs.
  function runsOf(figure) {
    return figure.dataset.points.split("\n").map((line) => {
      const [x, text, run] = line.split("\t");
      return { x: Number(x), text, run };
    });
  }

  function begin(figure) {
    const svg = figure.querySelector("svg");
    if (!svg || !figure.dataset.frame) return;
    const [left, top, right, bottom] = numbers(figure.dataset.frame);
    const [low, high] = numbers(figure.dataset.x);
    const [scaled, back] = figure.dataset.scale === "log" ? [Math.log, Math.exp] : [Number, Number];
    const [begins, ends] = [scaled(low), scaled(high)];
    const at = (x) => left + ((scaled(x) - begins) / (ends - begins)) * (right - left);
    const value = (pixel) => back(begins + ((pixel - left) / (right - left)) * (ends - begins));
    const places = figure.dataset.at ? numbers(figure.dataset.at) : [];
    const all = figure.dataset.points ? runsOf(figure) : pointsOf(figure).map((text, row) => ({ text, x: places[row] }));
    const points = all
      .filter((point) => point.x >= low && point.x <= high)
      .sort((a, b) => a.x - b.x);
    const group = figure.querySelector("[role=group]");
    const tip = document.createElement("output");
    tip.className = "tip";
    tip.hidden = true;
    tip.setAttribute("aria-live", "polite");
    figure.append(tip);
    const line = mark("line", "cursor");
    const range = mark("rect", "range");
    let chosen = -1;
    let from = null;

    function mark(name, className) {
      const element = document.createElementNS(NS, name);
      element.setAttribute("class", className);
      element.setAttribute("visibility", "hidden");
      svg.append(element);
      return element;
    }

    function place(element, attributes) {
      for (const [name, number] of Object.entries(attributes)) element.setAttribute(name, number);
      element.setAttribute("visibility", "visible");
    }

    function show(index) {
      if (!points.length) return;
      chosen = Math.max(0, Math.min(points.length - 1, index));
      const x = at(points[chosen].x);
      place(line, { x1: x, x2: x, y1: top, y2: bottom });
      tip.textContent = points[chosen].text;
      tip.hidden = false;
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const outer = figure.getBoundingClientRect();
      const wished = box.left - outer.left + x * scale - tip.offsetWidth / 2;
      tip.style.left = Math.max(0, Math.min(outer.width - tip.offsetWidth, wished)) + "px";
      tip.style.top = box.top - outer.top + top * scale - tip.offsetHeight - 4 + "px";
    }

    function hide() {
      tip.hidden = true;
      line.setAttribute("visibility", "hidden");
      range.setAttribute("visibility", "hidden");
      from = null;
    }

    function xOf(event) {
      const box = svg.getBoundingClientRect();
      const pixel = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      return value(Math.max(left, Math.min(right, pixel)));
    }

    function nearest(x) {
      let best = 0;
      points.forEach((point, index) => {
        if (Math.abs(point.x - x) < Math.abs(points[best].x - x)) best = index;
      });
      return best;
    }

    function open() {
      const run = chosen < 0 ? "" : points[chosen].run;
      if (figure.dataset.run && run) location.href = figure.dataset.run + encodeURIComponent(run);
    }

    function zoom(one, other) {
      const first = Math.max(1, Math.round(Math.min(one, other)));
      const last = Math.round(Math.max(one, other));
      if (last > first) location.href = figure.dataset.zoom + "&runs=" + first + "-" + last;
    }

    svg.addEventListener("pointermove", (event) => {
      const x = xOf(event);
      show(nearest(x));
      if (from !== null) {
        const [a, b] = [at(Math.min(from, x)), at(Math.max(from, x))];
        place(range, { x: a, y: top, width: b - a, height: bottom - top });
      }
    });
    svg.addEventListener("pointerleave", hide);
    group.addEventListener("blur", hide);
    if (figure.dataset.zoom) {
      svg.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "mouse" && event.button === 0) {
          from = xOf(event);
          event.preventDefault();
        }
      });
      svg.addEventListener("pointerup", (event) => {
        const begun = from;
        from = null;
        range.setAttribute("visibility", "hidden");
        if (begun === null) return;
        if (Math.abs(at(begun) - at(xOf(event))) > 8) zoom(begun, xOf(event));
        else open();
      });
    }
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "Arrow keys move between values" +
      (figure.dataset.zoom ? "; Enter or a click opens the run; + and - show fewer and more runs, 0 shows all; drag to select a range." : ".");
    figure.querySelector("figcaption").append(hint);
    group.addEventListener("keydown", (event) => {
      const wide = high - low;
      const middle = chosen < 0 ? (low + high) / 2 : points[chosen].x;
      const keys = {
        ArrowRight: () => show(chosen + 1),
        ArrowLeft: () => show(chosen < 0 ? points.length - 1 : chosen - 1),
        Home: () => show(0),
        End: () => show(points.length - 1),
        Enter: open,
        Escape: hide,
      };
      if (figure.dataset.zoom) {
        keys["+"] = () => zoom(middle - wide / 4, middle + wide / 4);
        keys["-"] = () => zoom(middle - wide, middle + wide);
        keys["0"] = () => { location.href = figure.dataset.zoom; };
      }
      if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        keys[event.key]();
      }
    });
  }

  // Adds a PNG button if the server was built without PNG: draws the SVG at twice its size on white.
  function offerPicture(figure) {
    const [svg, files] = [figure.querySelector("svg"), figure.querySelector(".files")];
    if (!svg || !files || [...files.children].some((link) => link.textContent === "PNG")) return;
    const button = document.createElement("button");
    button.textContent = "PNG";
    button.addEventListener("click", () => {
      const { width, height } = svg.viewBox.baseVal;
      const copy = svg.cloneNode(true);
      copy.querySelectorAll(".cursor, .range").forEach((element) => element.remove());
      const given = { width, height, xmlns: NS, "font-family": "Helvetica, Arial, DejaVu Sans, sans-serif" };
      for (const [name, value] of Object.entries(given)) copy.setAttribute(name, value);
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [2 * width, 2 * height];
        const pen = canvas.getContext("2d");
        pen.fillStyle = "#fff";
        pen.fillRect(0, 0, canvas.width, canvas.height);
        pen.drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => {
          const link = document.createElement("a");
          link.href = URL.createObjectURL(blob);
          link.download = figure.id + ".png";
          link.click();
          setTimeout(() => URL.revokeObjectURL(link.href), 60000);
        });
      };
      image.src = "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    });
    files.append(" ", button);
  }

  // Adds a button to each command that copies it.
  function offerCopy(command) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    command.append(button);
  }

  // Takes over what changed in the list of runs: progress, new rows, and runs that began or ended.
  function renew(fresh) {
    const known = document.getElementById("live-runs");
    const idsOf = (runs) => [...runs.querySelectorAll("h2")].map((title) => title.id).join(" ");
    if (idsOf(known) !== idsOf(fresh) || !known.querySelector("tbody")) {
      known.replaceChildren(...fresh.children);
      return;
    }
    const sections = [...fresh.querySelectorAll("section")];
    [...known.querySelectorAll("section")].forEach((section, at) => {
      section.querySelector(".progress").replaceWith(sections[at].querySelector(".progress"));
      const [body, rows] = [section, sections[at]].map((one) => one.querySelector("tbody"));
      if (!body || !rows) return;
      body.replaceChildren(...[...rows.children].map((row) => {
        const same = document.getElementById(row.id);
        return same && same.textContent === row.textContent ? same : row;
      }));
    });
  }

  // Follows the runs: the server sends a message when a replicate has ended, and when a run begins or ends.
  function listen(status) {
    const said = status.textContent;
    const source = new EventSource(status.dataset.events);
    let waits = false;
    source.onmessage = (event) => {
      status.textContent = event.data + " " + said;
      if (waits) return;
      waits = true;
      // At most one page a second.
      setTimeout(async () => {
        waits = false;
        const answer = await fetch(location.href);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById("live-runs");
        if (answer.ok && fresh) renew(fresh);
      }, 1000);
    };
    source.onerror = () => { status.textContent = "The connection to the server is interrupted. " + said; };
  }

  // Renews the state of a campaign until no job is left, but not while it is used: the keyboard's place and selected text stay.
  function follow(known) {
    const seconds = Number(known.dataset.refresh);
    if (!seconds) return;
    setTimeout(async () => {
      const isUsed = known.contains(document.activeElement) || !document.getSelection().isCollapsed;
      const text = document.hidden || isUsed ? "" : await fetch(location.href).then((answer) => answer.text(), () => "");
      const page = new DOMParser().parseFromString(text, "text/html");
      const fresh = page.getElementById("campaign");
      if (!fresh) return follow(known);
      known.querySelectorAll("details[id][open]").forEach((one) => {
        const same = fresh.querySelector("#" + one.id);
        if (same) same.open = true;
      });
      const [shown, subtitle] = [document, page].map((one) => one.querySelector(".subtitle"));
      if (shown && subtitle) shown.replaceWith(subtitle);
      known.replaceWith(fresh);
      if (navigator.clipboard) fresh.querySelectorAll(".command").forEach(offerCopy);
      follow(fresh);
    }, 1000 * seconds);
  }

  // Hides the rows whose case does not match while a filter is typed, and keeps it in the address. Enter searches all pages.
  function filterRows(field) {
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      document.querySelectorAll("main tbody tr").forEach((row) => {
        const link = row.querySelector("a[title]");
        row.hidden = !!link && !link.title.toLowerCase().includes(wanted);
      });
      const address = new URL(location.href);
      if (wanted) address.searchParams.set("find", field.value);
      else address.searchParams.delete("find");
      history.replaceState(null, "", address);
    });
  }

  // "/" focuses the search field.
  document.addEventListener("keydown", (event) => {
    const field = document.getElementById("find-all");
    const typing = event.target.closest && event.target.closest("input, textarea, select");
    if (event.key === "/" && field && !typing) {
      event.preventDefault();
      field.focus();
    }
  });
  document.querySelectorAll("figure.chart").forEach((figure) => {
    begin(figure);
    offerPicture(figure);
  });
  document.querySelectorAll("form[action=cases] [name=find]").forEach(filterRows);
  if (navigator.clipboard) document.querySelectorAll(".command").forEach(offerCopy);
  document.querySelectorAll("[data-refresh]").forEach(follow);
  const status = document.querySelector("[data-events]");
  if (status && window.EventSource) listen(status);
})();
