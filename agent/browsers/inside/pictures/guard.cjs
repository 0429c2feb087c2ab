/**
 * Runs in every document, in a world of its own: the page shares its elements with it, but no object and
 * no value. Finds where secrets stand before each frame is drawn, and says so whenever that changes.
 */
'use strict';

/** Reads nodes by what the engine gives: a form or a document has its fields and forms in place of its own properties. */
function reading() {
  const { apply, getOwnPropertyDescriptor } = Reflect;
  const get = (type, name) => {
    const property = getOwnPropertyDescriptor(type.prototype, name);
    return (target) => apply(property.get, target, []);
  };
  const call = (type, name) => {
    const method = type.prototype[name];
    return (target, ...args) => apply(method, target, args);
  };
  const rangeOf = call(Document, 'createRange');
  const walkerOf = call(Document, 'createTreeWalker');
  return {
    parentElement: get(Node, 'parentElement'),
    parentNode: get(Node, 'parentNode'),
    nodeName: get(Node, 'nodeName'),
    nodeType: get(Node, 'nodeType'),
    isConnected: get(Node, 'isConnected'),
    rootOf: call(Node, 'getRootNode'),
    contains: call(Node, 'contains'),
    attributes: get(Element, 'attributes'),
    localName: get(Element, 'localName'),
    shadowRoot: get(Element, 'shadowRoot'),
    scrollWidth: get(Element, 'scrollWidth'),
    scrollHeight: get(Element, 'scrollHeight'),
    boxOf: call(Element, 'getBoundingClientRect'),
    pageOf: get(Document, 'documentElement'),
    bodyOf: get(Document, 'body'),
    dispatch: call(EventTarget, 'dispatchEvent'),
    range: () => rangeOf(document),
    walker: (root, what) => walkerOf(document, root, what),
  };
}

/** Finds forms of secrets in texts. There are hundreds, so they are looked up by their first two characters. */
function textSearch(forms) {
  const unseen = /[\u00ad\u0307\u200b-\u200d\u2060\ufeff]/g;
  const odd = /[\u00ad\u0307\u200b-\u200d\u2060\ufeff]|\s{2,}|[^\S ]/;
  /** Without what takes no room, and with one blank in place of all that stand together. */
  const plain = (text) => (odd.test(text) ? text.replace(unseen, '').replace(/\s+/g, ' ') : text);
  /** One for each letter, whatever stands beside it: positions have to fit. */
  const lowerLetter = (letter) => (letter === 'ς' ? 'σ' : letter.toLowerCase()[0]);
  const lowerOf = (text) =>
    /[^\0-\x7f]/.test(text) ? text.replace(/[A-Z]|[^\0-\x7f]/g, lowerLetter) : text.toLowerCase();
  const beginnings = new Map();
  const keyOf = (text, at) => ((text.charCodeAt(at) & 255) << 8) | (text.charCodeAt(at + 1) & 255);
  const mayBegin = new Uint8Array(65_536);
  let longest = 0;
  for (const { text, anyCase } of forms) {
    const written = plain(text);
    const lower = lowerOf(written);
    const key = keyOf(lower, 0);
    mayBegin[key] = 1;
    longest = Math.max(longest, written.length);
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
  return { odd, plain, find, holds, longest };
}

/** Where things are drawn, in the viewport of their document: left, top, width and height. */
function geometry(read) {
  const parentOf = (node) => read.parentElement(node) ?? read.rootOf(node).host ?? null;
  const unboxed = /^(?:inline|contents|table-(?:row|column|header|footer).*)$/;
  /** What is left of a rectangle within the ancestors that cut off. */
  const clipped = (element, [left, top, right, bottom]) => {
    let box = [left, top, right, bottom];
    let position = '';
    for (let at = element; at !== null; at = parentOf(at)) {
      const style = getComputedStyle(at);
      if (style.display === 'contents') continue;
      const isPast =
        position === 'fixed' || (position === 'absolute' && style.position === 'static');
      if (isPast) continue;
      position = style.position;
      const isPage = at === read.pageOf(document) || at === read.bodyOf(document);
      const { overflowX, overflowY } = style;
      const [isWide, isHigh] = [overflowX === 'visible', overflowY === 'visible'];
      if (isPage || (isWide && isHigh) || unboxed.test(style.display)) continue;
      const edge = read.boxOf(at);
      const [x, right] = isWide
        ? [box[0], box[2]]
        : [Math.max(box[0], edge.left), Math.min(box[2], edge.right)];
      const [y, bottom] = isHigh
        ? [box[1], box[3]]
        : [Math.max(box[1], edge.top), Math.min(box[3], edge.bottom)];
      box = [x, y, right, bottom];
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
      const range = read.range();
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
    const { left, top, right, bottom, width } = read.boxOf(element);
    if (!read.isConnected(element) || style.visibility !== 'visible' || width === 0) return [];
    const [wide, high] = [left + read.scrollWidth(element), top + read.scrollHeight(element)];
    const whole = { left, top, right: Math.max(right, wide), bottom: Math.max(bottom, high) };
    return clipped(parentOf(element), padded(whole, reachOf(style)));
  };
  const inCanvas = (canvas, places) => {
    const { left, top, width, height } = read.boxOf(canvas);
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

/** What stands in the document: texts that are a secret together, and elements that may show one otherwise. */
function inventory({ odd, plain, find, holds, longest }, read, onRoot, ask) {
  const silent = /^(?:SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|HEAD|META|LINK)$/;
  const unwritten = /^(?:hidden|checkbox|radio|range|color|image|file)$/;
  /** How far a secret may reach from a node that changes. */
  const maxNodes = 64;
  const roots = new Set();
  const seen = { texts: [], elements: new Set(), fields: new Map() };

  const dataOf = (url) => {
    try {
      return /;base64,/i.test(url) ? atob(url.replace(/^.*?,/, '')) : decodeURIComponent(url);
    } catch {
      return url;
    }
  };
  const mayShow = ({ value }) => holds(/^data:/i.test(value) ? dataOf(value) : value);
  /** By the styles of this moment. */
  const shows = (element) =>
    [...read.attributes(element)].some((attribute) => {
      const { name, value } = attribute;
      if (!mayShow(attribute)) return false;
      if (/^data:/i.test(value) || /^(?:label|style)$/.test(name)) return true;
      if (name === 'alt' && !(element.complete && element.naturalWidth > 0)) return true;
      const isDrawn = (pseudo) => holds(getComputedStyle(element, pseudo).content);
      return ['::before', '::after', '::marker'].some(isDrawn);
    });
  const takeElement = (element) => {
    const root = read.shadowRoot(element);
    if (root) takeRoot(root);
    const localName = read.localName(element);
    const isWritten = localName === 'input' && !unwritten.test(element.type);
    const isField = isWritten || localName === 'textarea' || localName === 'select';
    if (isField && !seen.fields.has(element)) seen.fields.set(element, {});
    ask(element);
    if ([...read.attributes(element)].some(mayShow)) seen.elements.add(element);
    else seen.elements.delete(element);
  };
  const rectsOf = (node) => {
    const range = read.range();
    range.selectNodeContents(node);
    return [...range.getClientRects()];
  };
  /** True where two texts are read as one: in one line of elements, or side by side. */
  const adjoin = (one, other) => {
    const isInline = (node, beside) => {
      let at = read.parentElement(node);
      while (at !== null && !read.contains(at, beside)) {
        if (!/^(?:inline|contents|ruby)/.test(getComputedStyle(at).display)) return false;
        at = read.parentElement(at);
      }
      return true;
    };
    if (isInline(one, other) && isInline(other, one)) return true;
    const [left, right] = [rectsOf(one).at(-1), rectsOf(other)[0]];
    if (!left || !right) return false;
    const height = Math.min(left.height, right.height);
    const shared = Math.min(left.bottom, right.bottom) - Math.max(left.top, right.top);
    return shared > height / 2 && Math.abs(right.left - left.right) < height * 0.6;
  };
  /** By the layout of this moment; `blanks` are those that must not be drawn between the parts. */
  const isOne = ({ parts, blanks }) =>
    parts.every(([node], at) => at === 0 || adjoin(parts[at - 1][0], node)) &&
    blanks.every((blank) => rectsOf(blank).every(({ width }) => width === 0));
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
  /** Texts that are a secret together, in nodes that follow each other; nothing here asks for the layout. */
  const secretsIn = (nodes, isTight) => {
    const pieces = [];
    const blanks = [];
    const written = [];
    let length = 0;
    let endsBlank = false;
    for (const node of nodes) {
      const { text, places } = pieceOf(node.data);
      // One blank is drawn for those on both sides of a border.
      const skipped = endsBlank && text[0] === ' ' ? 1 : 0;
      if (text.length === skipped) continue;
      if (isTight && text === ' ') {
        blanks.push([length, node]);
        continue;
      }
      const start = length;
      length += text.length - skipped;
      endsBlank = text.endsWith(' ');
      written.push(skipped === 0 ? text : text.slice(skipped));
      pieces.push({ node, start, end: length, skipped, places });
    }
    if (isTight && blanks.length === 0) return [];
    return find(written.join('')).flatMap(([start, end]) => {
      const parts = pieces
        .filter((piece) => piece.start < end && piece.end > start)
        .map(({ node, start: begin, end: stop, skipped, places }) => {
          const place = (at) => (places === null ? at : places[at]);
          const from = Math.max(begin, start) - begin + skipped;
          const to = Math.min(stop, end) - begin + skipped;
          return [node, place(from), places === null ? to : places[to - 1] + 1];
        });
      const between = blanks.filter(([at]) => at > start && at < end).map(([, node]) => node);
      return isTight && between.length === 0 ? [] : [{ parts, blanks: between }];
    });
  };
  const isSilent = (node) => silent.test(read.nodeName(node));
  /** The next element or text; without a filter, which the engine refuses in a page that waits for its start. */
  const nextOf = (walker) => {
    let node = walker.nextNode();
    while (node !== null && isSilent(node)) {
      node = walker.nextSibling();
      while (node === null) {
        if (walker.parentNode() === null) return null;
        node = walker.nextSibling();
      }
    }
    return node;
  };
  /** The texts before a node, as far as a secret may reach. */
  const textsBefore = (top) => {
    const walker = read.walker(read.rootOf(top), 5);
    walker.currentNode = top;
    const texts = [];
    let letters = 0;
    for (let count = 0; count < maxNodes && letters < longest; count += 1) {
      const node = walker.previousNode();
      if (node === null) break;
      if (read.nodeType(node) !== 3 || isSilent(read.parentNode(node))) continue;
      texts.unshift(node);
      letters += node.data.length;
    }
    return texts;
  };
  /** Looks at nodes that changed, with all that is below them, and at the texts around them. */
  const scan = (changed) => {
    const isBelow = (node) => {
      for (let at = read.parentNode(node); at !== null; at = read.parentNode(at)) {
        if (changed.has(at) || isSilent(at)) return true;
      }
      return isSilent(node);
    };
    const tops = new Set([...changed].filter((node) => read.isConnected(node) && !isBelow(node)));
    const isChanged = (node) => {
      for (let at = node; at !== null; at = read.parentNode(at)) if (changed.has(at)) return true;
      return !read.isConnected(node);
    };
    seen.texts = seen.texts.filter(({ parts }) => !parts.some(([node]) => isChanged(node)));
    for (const top of tops) {
      const texts = textsBefore(top);
      const walker = read.walker(read.rootOf(top), 5);
      walker.currentNode = top;
      let end = null;
      let [count, letters] = [0, 0];
      for (let node = top; node !== null; node = nextOf(walker)) {
        if (tops.has(node)) {
          tops.delete(node);
          end = node;
        }
        const isIn = end !== null && read.contains(end, node);
        [count, letters] = isIn ? [0, 0] : [count + 1, letters];
        if (count > maxNodes || letters >= longest) break;
        const type = read.nodeType(node);
        if (type === 1 && isIn) takeElement(node);
        if (type !== 3) continue;
        texts.push(node);
        if (!isIn) letters += node.data.length;
      }
      const around = new Set(texts);
      const found = [...secretsIn(texts, false), ...secretsIn(texts, true)];
      if (seen.texts.length > 0) {
        seen.texts = seen.texts.filter(({ parts }) => !parts.every(([node]) => around.has(node)));
      }
      seen.texts.push(...found);
    }
  };
  const takeRoot = (root) => {
    if (!roots.has(root)) onRoot(root);
    roots.add(root);
    scan(new Set([root]));
  };
  const forget = () => {
    for (const set of [seen.elements, seen.fields]) {
      for (const element of set.keys()) if (!read.isConnected(element)) set.delete(element);
    }
  };
  return { seen, scan, takeRoot, takeElement, isOne, shows, forget, scanAll: () => scan(roots) };
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
  const read = reading();
  const search = textSearch(forms);
  const { holds } = search;
  const { ofText, ofElement, inCanvas } = geometry(read);
  const canvases = drawings(search.find);
  const closedHosts = new Set();
  const opened = new WeakSet();
  const asked = new WeakSet();
  let isListening = false;
  let mustAsk = false;
  let isDirty = true;
  let isScheduled = false;
  let last = '';

  /** Asks the page for no layout, and so changes nothing in it, unless a secret may stand there. */
  const observer = new MutationObserver((records) => {
    listen();
    const changed = new Set();
    const elements = new Set();
    for (const {
      type,
      target,
      addedNodes,
      removedNodes,
      nextSibling,
      previousSibling,
    } of records) {
      if (type === 'attributes') elements.add(target);
      if (type === 'characterData') changed.add(target);
      for (const node of addedNodes) changed.add(node);
      if (removedNodes.length > 0) changed.add(nextSibling ?? previousSibling ?? target);
    }
    for (const element of elements) takeElement(element);
    if (changed.size > 0) scan(changed);
    isDirty = true;
    sample();
  });
  const everything = { subtree: true, childList: true, characterData: true, attributes: true };
  const inDocument = inventory(
    search,
    read,
    (root) => observer.observe(root, everything),
    (element) => {
      if (!mustAsk || asked.has(element)) return;
      asked.add(element);
      read.dispatch(element, new Event(`${drawn}?`));
    },
  );
  const { seen, scan, takeRoot, takeElement, isOne, shows, forget, scanAll } = inDocument;

  /** Dots stand in place of what is written in a password field. */
  const writtenIn = (field) => {
    if (read.localName(field) === 'select') {
      const isList = field.multiple || field.size > 1;
      return [...(isList ? field.options : field.selectedOptions)]
        .map(({ label }) => label)
        .join('\n');
    }
    if (field.value === '') return field.placeholder;
    return field.type === 'password' ? '' : field.value;
  };
  const isWritten = ([field, known]) => {
    const text = writtenIn(field);
    if (text !== known.text) Object.assign(known, { text, holds: holds(text) });
    return known.holds;
  };
  const whyUnsure = (elements) => {
    const isAway = (element) =>
      ['::before', '::after'].some((pseudo) => {
        const { content, position, transform } = getComputedStyle(element, pseudo);
        return holds(content) && (/absolute|fixed/.test(position) || transform !== 'none');
      });
    if (elements.some(isAway)) return 'it is drawn by a style sheet, away from its element';
    return closedHosts.size > 0 ? closedRoot : null;
  };
  const viewNow = () => {
    const { scale, width, height, offsetLeft, offsetTop } = visualViewport;
    const size = scale === 1 ? [innerWidth, innerHeight] : [width, height];
    return [...size, scrollX, scrollY, offsetLeft, offsetTop];
  };
  /** Where secrets stand; the view is read with them, and where it is asked for. */
  const locate = (isAsked) => {
    forget();
    const elements = [...seen.elements].filter(shows);
    const written = [...seen.fields].filter(isWritten).map(([field]) => field);
    const rects = [
      ...seen.texts.filter(isOne).flatMap(ofText),
      ...[...elements, ...written].flatMap(ofElement),
      ...[...canvases.known].flatMap(([canvas, { places }]) => inCanvas(canvas, places)),
    ].map((rect) => rect.map((length) => Math.round(length * 100) / 100));
    const view = isAsked || rects.length > 0 ? viewNow() : null;
    return { rects, unsure: whyUnsure(elements), view };
  };
  let current = document;
  const sample = () => {
    // The first document of a window may give its world to the next.
    if (document !== current) {
      current = document;
      mustAsk = true;
      takeRoot(document);
    }
    const state = locate(false);
    const text = JSON.stringify(state);
    // In the first document of a window the binding comes after its scripts.
    if (text !== last && typeof globalThis[say] === 'function') {
      globalThis[say](text);
      last = text;
    }
    // Before each frame, as long as there is something that can move or be written into.
    const { texts, elements, fields } = seen;
    const isMoving = [...canvases.known.values()].some(({ places }) => places.length > 0);
    if (isScheduled || !(isMoving || texts.length + elements.size + fields.size > 0)) return;
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
      const { detail } = event;
      if (detail === 'heard') {
        isListening = true;
        return;
      }
      if (detail === 'apart') mustAsk = true;
      else if (detail === 'open') takeRoot(read.shadowRoot(target));
      else if (detail !== 'closed') canvases.take(target, JSON.parse(detail));
      else if (!opened.has(target)) closedHosts.add(target);
    }
    sample();
  };
  /** Again and again: `document.open` removes listeners, and elements have to be asked what was missed. */
  const listen = () => {
    isListening = false;
    read.dispatch(globalThis, new CustomEvent(drawn, { detail: 'heard' }));
    if (isListening) return;
    mustAsk = true;
    const options = { capture: true, passive: true };
    for (const name of ['input', 'change', 'scroll', 'load', 'toggle', drawn])
      addEventListener(name, onEvent, options);
  };
  listen();
  mustAsk = read.bodyOf(document) !== null;
  takeRoot(document);
  sample();
  // Last, so that a guard that fails before is found missing.
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
    /** For a picture everything is searched anew, for a frame of a film what is known is enough. */
    __look(isPicture) {
      if (isDirty && isPicture) {
        scanAll();
        isDirty = false;
      }
      sample();
      return JSON.stringify(locate(isPicture));
    },
  });
}

/** The program of a document. */
function guardSource(given) {
  const parts = [reading, textSearch, geometry, paint, inventory, drawings, guard];
  return `(() => { ${parts.join('\n')}\nif (globalThis.__look) __look(false);
else guard(${JSON.stringify(given)}); })()`;
}

module.exports = { guardSource };
