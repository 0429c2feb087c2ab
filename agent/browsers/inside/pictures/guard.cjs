/**
 * Runs in every document, in a world of its own: the page shares its elements with it, but no object and
 * no value. Finds where secrets stand before each frame is drawn, and says so whenever that changes.
 */
'use strict';

/** Finds forms of secrets in texts. There are hundreds, so they are looked up by their first two characters. */
function textSearch(forms) {
  const unseen = /[\u00ad\u200b-\u200d\u2060\ufeff]/g;
  const odd = /[\u00ad\u200b-\u200d\u2060\ufeff]|\s{2,}|[^\S ]/;
  /** Without what takes no room, and with one blank in place of all that stand together. */
  const plain = (text) => (odd.test(text) ? text.replace(unseen, '').replace(/\s+/g, ' ') : text);
  const lowerOf = (text) => {
    const lower = text.toLowerCase();
    // Some letters become two, and positions would no longer fit.
    return lower.length === text.length ? lower : text;
  };
  const beginnings = new Map();
  const keyOf = (text, at) => ((text.charCodeAt(at) & 255) << 8) | (text.charCodeAt(at + 1) & 255);
  const mayBegin = new Uint8Array(65_536);
  for (const { text, anyCase } of forms) {
    const written = plain(text);
    const lower = lowerOf(written);
    const key = keyOf(lower, 0);
    mayBegin[key] = 1;
    beginnings.set(key, [...(beginnings.get(key) ?? []), { written, lower, anyCase }]);
  }
  /** In a text that is plain: beginnings and ends, also of those that overlap. */
  const find = (text) => {
    const found = [];
    const whole = lowerOf(text);
    for (let at = 0; at + 1 < whole.length; at += 1) {
      const key = keyOf(whole, at);
      if (mayBegin[key] === 0) continue;
      for (const { written, lower, anyCase } of beginnings.get(key)) {
        if (!whole.startsWith(lower, at) || !(anyCase || text.startsWith(written, at))) continue;
        found.push([at, at + written.length]);
      }
    }
    return found;
  };
  const holds = (text) => String(text).length > 3 && find(plain(String(text))).length > 0;
  return { odd, plain, find, holds };
}

/** Where things are drawn, in the viewport of their document: left, top, width and height. */
function geometry() {
  const parentOf = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  /** What is left of a rectangle within the ancestors that cut off. */
  const clipped = (element, [left, top, right, bottom]) => {
    let box = [left, top, right, bottom];
    let position = '';
    for (let at = element; at !== null; at = parentOf(at)) {
      const style = getComputedStyle(at);
      const isPast =
        position === 'fixed' || (position === 'absolute' && style.position === 'static');
      if (isPast) continue;
      position = style.position;
      const isPage = at === document.documentElement || at === document.body;
      if (isPage || style.overflow === 'visible' || style.display === 'inline') continue;
      const edge = at.getBoundingClientRect();
      const [x, y] = [Math.max(box[0], edge.left), Math.max(box[1], edge.top)];
      box = [x, y, Math.min(box[2], edge.right), Math.min(box[3], edge.bottom)];
    }
    const [width, height] = [box[2] - box[0], box[3] - box[1]];
    return width > 0 && height > 0 ? [[box[0], box[1], width, height]] : [];
  };
  const padded = ({ left, top, right, bottom }, pad) => [
    left - pad,
    top - pad,
    right + pad,
    bottom + pad,
  ];
  const reachOf = ({ textShadow, filter }) => {
    const lengths = `${textShadow} ${filter}`.match(/[\d.]+px/g) ?? [];
    return 2 + Math.max(0, ...lengths.map((length) => Number.parseFloat(length)));
  };
  const ofText = ({ parts }) =>
    parts.flatMap(([node, start, end]) => {
      const element = parentOf(node);
      if (element === null || end > node.data.length) return [];
      const style = getComputedStyle(element);
      if (style.visibility !== 'visible') return [];
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      // Letters reach beyond their boxes: slanted ones, and those of decorative fonts.
      return [...range.getClientRects()].flatMap((rect) =>
        rect.width === 0 || rect.height === 0
          ? []
          : clipped(element, padded(rect, reachOf(style) + rect.height * 0.15)),
      );
    });
  const ofElement = (element) => {
    const style = getComputedStyle(element);
    const { left, top, right, bottom, width } = element.getBoundingClientRect();
    if (!element.isConnected || style.visibility !== 'visible' || width === 0) return [];
    const [wide, high] = [left + element.scrollWidth, top + element.scrollHeight];
    const whole = { left, top, right: Math.max(right, wide), bottom: Math.max(bottom, high) };
    return clipped(parentOf(element), padded(whole, reachOf(style)));
  };
  const inCanvas = (canvas, places) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const [x, y] = [width / canvas.width, height / canvas.height];
    return places.flatMap(([from, above, wide, high]) => {
      const box = [from * x, above * y, (from + wide) * x, (above + high) * y];
      return clipped(canvas, [left + box[0], top + box[1], left + box[2], top + box[3]]);
    });
  };
  return { ofText, ofElement, inCanvas };
}

/** Gives a picture, in base64, with shares of it painted over. */
async function paint(data, type, quality, shares) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.codePointAt(0));
  const options = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };
  const image = await createImageBitmap(new Blob([bytes], { type }), options);
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  for (const [x, y, width, height] of shares) {
    const [left, top] = [Math.floor(x * image.width), Math.floor(y * image.height)];
    const right = Math.ceil((x + width) * image.width);
    context.fillRect(left, top, right - left, Math.ceil((y + height) * image.height) - top);
  }
  const blob = await canvas.convertToBlob({ type, quality });
  const reader = new FileReader();
  reader.readAsDataURL(blob);
  await new Promise((resolve) => (reader.onload = resolve));
  return reader.result.split(',')[1];
}

/** What stands in the document: texts that are a secret together, and elements that show one otherwise. */
function inventory({ odd, plain, find, holds }, onRoot, ask) {
  const silent = /^(?:SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|HEAD|META|LINK)$/;
  const unwritten = /^(?:hidden|checkbox|radio|range|color|image|file)$/;
  const roots = new Set();
  const asked = new WeakSet();
  const seen = { texts: [], elements: new Set(), fields: new Set() };

  const dataOf = (url) => {
    try {
      return /;base64,/i.test(url) ? atob(url.replace(/^.*?,/, '')) : decodeURIComponent(url);
    } catch {
      return url;
    }
  };
  const shows = (element, { name, value }) => {
    if (/^data:/i.test(value)) return holds(dataOf(value));
    if (!holds(value)) return false;
    const isDrawn = (pseudo) => holds(getComputedStyle(element, pseudo).content);
    return /^(?:alt|label|style)$/.test(name) || ['::before', '::after', '::marker'].some(isDrawn);
  };
  const takeElement = (element) => {
    if (element.shadowRoot) takeRoot(element.shadowRoot);
    const { localName } = element;
    const isWritten = localName === 'input' && !unwritten.test(element.type);
    if (isWritten || localName === 'textarea' || localName === 'select') seen.fields.add(element);
    if (!asked.has(element)) ask(element);
    asked.add(element);
    const isShown = [...element.attributes].some((attribute) => shows(element, attribute));
    if (isShown) seen.elements.add(element);
    else seen.elements.delete(element);
  };
  /** True where two texts are read as one: in one line of elements, or side by side. */
  const adjoin = (one, other) => {
    const isInline = (node, beside) => {
      let at = node.parentElement;
      while (at !== null && !at.contains(beside)) {
        if (!/^(?:inline|contents|ruby)/.test(getComputedStyle(at).display)) return false;
        at = at.parentElement;
      }
      return true;
    };
    if (isInline(one, other) && isInline(other, one)) return true;
    const [left, right] = [one, other].map((node, index) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return [...range.getClientRects()].at(index === 0 ? -1 : 0);
    });
    if (!left || !right) return false;
    const height = Math.min(left.height, right.height);
    const shared = Math.min(left.bottom, right.bottom) - Math.max(left.top, right.top);
    return shared > height / 2 && Math.abs(right.left - left.right) < height * 0.6;
  };
  /** The plain text of a node, and where each of its characters stands in it; null where that is the same. */
  const pieceOf = (data) => {
    if (!odd.test(data)) return { text: data, places: null };
    const places = [];
    let text = '';
    for (let at = 0; at < data.length; at += 1) {
      const letter = plain(data[at]);
      if (letter === '' || (letter === ' ' && text.endsWith(' '))) continue;
      places.push(at);
      text += letter;
    }
    return { text, places: [...places, data.length] };
  };
  /** Looks at all that is below a node anew. */
  const scan = (top) => {
    const isWithin = ([node]) => top.contains(node);
    const isAcross = ({ parts }) => parts.some(isWithin) && !parts.every(isWithin);
    if (seen.texts.some(isAcross)) return void scan(top.getRootNode());
    seen.texts = seen.texts.filter(
      ({ parts }) => parts.every(([node]) => node.isConnected) && !parts.some(isWithin),
    );
    // Elements and texts.
    const walker = document.createTreeWalker(top, 5, ({ nodeName }) =>
      silent.test(nodeName) ? 2 : 1,
    );
    const pieces = [];
    let whole = '';
    for (let node = top; node !== null; node = walker.nextNode()) {
      if (node.nodeType === 1) takeElement(node);
      if (node.nodeType !== 3) continue;
      const { text, places } = pieceOf(node.data);
      if (text === '') continue;
      pieces.push({ node, start: whole.length, end: whole.length + text.length, places });
      whole += text;
    }
    for (const [start, end] of find(whole)) {
      const parts = pieces
        .filter((piece) => piece.start < end && piece.end > start)
        .map(({ node, start: begin, end: stop, places }) => {
          const place = (at) => (places === null ? at - begin : places[at - begin]);
          return [node, place(Math.max(begin, start)), place(Math.min(stop, end))];
        });
      const isOne = parts.every(([node], at) => at === 0 || adjoin(parts[at - 1][0], node));
      if (isOne) seen.texts.push({ parts });
    }
  };
  const takeRoot = (root) => {
    if (!roots.has(root)) onRoot(root);
    roots.add(root);
    scan(root);
  };
  return { seen, scan, takeRoot, scanAll: () => [...roots].forEach(scan) };
}

/** Text that was drawn into canvases; see drawn-text.cjs. */
function drawings(find) {
  const known = new Map();
  const take = (canvas, [text, left, top, width, height]) => {
    let { pieces, places } = known.get(canvas) ?? { pieces: [], places: [] };
    const isLeft = ([x, y, wide, high]) =>
      x < left || y < top || x + wide > left + width || y + high > top + height;
    pieces = text === null ? pieces.filter(({ place }) => isLeft(place)) : pieces.slice(-511);
    if (text === null) places = places.filter(isLeft);
    else pieces.push({ text, place: [left, top, width, height] });
    let whole = '';
    // Letters may be drawn one by one.
    const ends = pieces.map((piece) => (whole += piece.text).length);
    const found = find(whole);
    const isFound = (piece, at) =>
      found.some(([start, end]) => ends[at] > start && ends[at] - piece.text.length < end);
    places = [...new Set([...places, ...pieces.filter(isFound).map(({ place }) => place)])];
    known.set(canvas, { pieces, places });
  };
  return { known, take };
}

/** `forms` are the texts to look for, `say` is the binding of this world, `drawn` the event of drawn-text.cjs. */
function guard({ forms, say, drawn, closedRoot }) {
  const search = textSearch(forms);
  const { holds } = search;
  const { ofText, ofElement, inCanvas } = geometry();
  const canvases = drawings(search.find);
  const closedHosts = new Set();
  const opened = new WeakSet();
  let isDirty = true;
  let isScheduled = false;
  let last = '';

  const observer = new MutationObserver((records) => {
    listen();
    const tops = new Set();
    for (const { target } of records) {
      let top = target;
      // A secret may stand in several elements beside each other.
      for (let level = 0; level < 3 && top.parentNode !== null; level += 1) top = top.parentNode;
      tops.add(top);
    }
    const isInside = (top) => [...tops].some((other) => other !== top && other.contains(top));
    if (tops.size > 50) scanAll();
    else [...tops].filter((top) => top.isConnected && !isInside(top)).forEach(scan);
    isDirty = true;
    sample();
  });
  const everything = { subtree: true, childList: true, characterData: true, attributes: true };
  const { seen, scan, takeRoot, scanAll } = inventory(
    search,
    (root) => observer.observe(root, everything),
    (element) => element.dispatchEvent(new Event(`${drawn}?`)),
  );

  /** Dots stand in place of what is written in a password field. */
  const writtenIn = (field) => {
    if (field.localName === 'select')
      return [...field.selectedOptions].map(({ label }) => label).join('\n');
    if (field.value === '') return field.placeholder;
    return field.type === 'password' ? '' : field.value;
  };
  const whyUnsure = () => {
    const isAway = (element) =>
      ['::before', '::after'].some((pseudo) => {
        const { content, position, transform } = getComputedStyle(element, pseudo);
        return holds(content) && (/absolute|fixed/.test(position) || transform !== 'none');
      });
    if ([...seen.elements].some(isAway))
      return 'it is drawn by a style sheet, away from its element';
    return closedHosts.size > 0 ? closedRoot : null;
  };
  const sample = (isAsked = false) => {
    const written = [...seen.fields].filter((field) => holds(writtenIn(field)));
    const rects = [
      ...seen.texts.flatMap(ofText),
      ...[...seen.elements, ...written].flatMap(ofElement),
      ...[...canvases.known].flatMap(([canvas, { places }]) => inCanvas(canvas, places)),
    ].map((rect) => rect.map((length) => Math.round(length * 100) / 100));
    const { scale, width, height, offsetLeft, offsetTop } = visualViewport;
    const size = scale === 1 ? [innerWidth, innerHeight] : [width, height];
    const view = [...size, scrollX, scrollY, offsetLeft, offsetTop];
    const state = { rects, unsure: whyUnsure(), view };
    const text = JSON.stringify(state);
    if (text !== last || isAsked) globalThis[say](JSON.stringify({ time: Date.now(), ...state }));
    last = text;
    // Before each frame, as long as there is something that can move or be written into.
    const { texts, elements, fields } = seen;
    if (isScheduled || texts.length + elements.size + fields.size + canvases.known.size === 0)
      return;
    isScheduled = true;
    requestAnimationFrame(() => {
      isScheduled = false;
      sample();
    });
  };
  const onEvent = (event) => {
    const [target] = event.composedPath();
    if (event.type === drawn) {
      event.stopImmediatePropagation();
      if (event.detail !== 'closed') canvases.take(target, JSON.parse(event.detail));
      else if (!opened.has(target)) closedHosts.add(target);
    }
    sample();
  };
  /** Again and again: `document.open` removes listeners. */
  const listen = () => {
    const options = { capture: true, passive: true };
    for (const name of ['input', 'change', 'scroll', 'load', 'toggle', drawn])
      addEventListener(name, onEvent, options);
  };
  Object.assign(globalThis, {
    __paint: paint,
    __closedHost: () => [...closedHosts][0],
    __openRoot(host, root) {
      closedHosts.delete(host);
      opened.add(host);
      root.addEventListener(drawn, onEvent, true);
      takeRoot(root);
      sample();
    },
    __look() {
      if (isDirty) scanAll();
      isDirty = false;
      sample(true);
    },
  });
  listen();
  takeRoot(document);
  sample();
}

/** The program of a document. */
function guardSource(given) {
  const parts = [textSearch, geometry, paint, inventory, drawings, guard];
  return `(() => { ${parts.join('\n')}\nif (!globalThis.__look) guard(${JSON.stringify(given)}); })()`;
}

module.exports = { guardSource };
