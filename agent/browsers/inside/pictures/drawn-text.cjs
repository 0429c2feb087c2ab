/**
 * Runs in the page's own world before its scripts, and knows no secret: says what text is drawn into which
 * canvas, and which elements get a closed shadow root, since nothing else can see either.
 */
'use strict';

function reportDrawn({ drawn }) {
  const { apply } = Reflect;
  const { dispatchEvent, addEventListener } = EventTarget.prototype;
  const { get, set } = WeakMap.prototype;
  const Event = CustomEvent;
  const { stringify, parse } = JSON;
  const drawnInto = new WeakMap();
  const piecesOf = (canvas) => apply(get, drawnInto, [canvas]);
  const say = (target, detail) => {
    apply(dispatchEvent, target, [new Event(drawn, { detail, composed: true })]);
  };
  /** The guard hears of nothing that is no part of the document yet, and asks when it is. */
  const onAsked = (target, answer) => apply(addEventListener, target, [`${drawn}?`, answer]);
  /** What the page did has been done, whatever it put in place of what is called here. */
  const quietly = (work) => {
    try {
      work();
    } catch {
      // Its call must not fail.
    }
  };
  const report = (canvas, piece) => {
    if (!piecesOf(canvas)) {
      apply(set, drawnInto, [canvas, []]);
      if (canvas.ownerDocument)
        onAsked(canvas, () => [...piecesOf(canvas)].forEach((one) => say(canvas, one)));
    }
    const pieces = piecesOf(canvas);
    pieces.push(stringify(piece));
    if (pieces.length > 512) pieces.shift();
    if (canvas.isConnected) say(canvas, pieces.at(-1));
    else if (canvas.ownerDocument) say(globalThis, 'apart');
  };
  /** The box around a rectangle in pixels of the canvas. */
  const boxOf = (context, x, y, width, height) => {
    const { a, b, c, d, e, f } = context.getTransform();
    const [across, down] = [x + width / 2, y + height / 2];
    const wide = Math.abs(a * width) + Math.abs(c * height);
    const high = Math.abs(b * width) + Math.abs(d * height);
    return [a * across + c * down + e - wide / 2, b * across + d * down + f - high / 2, wide, high];
  };
  const draw = (target, context, args) => {
    const result = apply(target, context, args);
    quietly(() => reportText(context, args));
    return result;
  };
  const reportText = (context, [text, x, y]) => {
    const box = context.measureText(String(text));
    const [above, below] = [box.actualBoundingBoxAscent, box.actualBoundingBoxDescent];
    const [before, after] = [box.actualBoundingBoxLeft, box.actualBoundingBoxRight];
    const pad = 2 + (above + below) * 0.3 + context.lineWidth;
    const [wide, high] = [before + after + 2 * pad, above + below + 2 * pad];
    report(context.canvas, [
      String(text),
      ...boxOf(context, x - before - pad, y - above - pad, wide, high),
    ]);
  };
  const clear = (target, context, args) => {
    quietly(() => report(context.canvas, [null, ...boxOf(context, ...args)]));
    return apply(target, context, args);
  };
  const copy = (target, context, args) => {
    const result = apply(target, context, args);
    quietly(() => reportCopy(context, args));
    return result;
  };
  const reportCopy = (context, [source, ...places]) => {
    // Of nine arguments the last four say where to, of five and three those after the source.
    const [x, y, wide = source.width, high = source.height] = places.slice(
      places.length > 4 ? 4 : 0,
    );
    for (const piece of (source instanceof Object && piecesOf(source)) || []) {
      const [text] = parse(piece);
      if (text !== null) report(context.canvas, [text, ...boxOf(context, x, y, wide, high)]);
    }
  };
  const wrap = (owner, name, handler) => {
    const property = owner && Reflect.getOwnPropertyDescriptor(owner.prototype, name);
    if (!property) return;
    const value = new Proxy(property.value, { apply: handler });
    Object.defineProperty(owner.prototype, name, { ...property, value });
  };
  for (const owner of [
    globalThis.CanvasRenderingContext2D,
    globalThis.OffscreenCanvasRenderingContext2D,
  ]) {
    wrap(owner, 'fillText', draw);
    wrap(owner, 'strokeText', draw);
    wrap(owner, 'clearRect', clear);
    wrap(owner, 'drawImage', copy);
  }
  wrap(Element, 'attachShadow', (target, element, args) => {
    const root = apply(target, element, args);
    const isClosed = root.mode === 'closed';
    if (isClosed) onAsked(element, () => say(element, 'closed'));
    if (element.isConnected) say(element, root.mode);
    else if (isClosed) say(globalThis, 'apart');
    return root;
  });
}

module.exports = { reportDrawn };
