/**
 * Elements as the model sees them (a reference of the last snapshot) and as a learned script keeps
 * them: several ways to find the same element again, most telling first.
 */
'use strict';
const { problem } = require('./problem.cjs');

/** The agent removes secrets first and then cuts to what a model can use. */
const maxSnapshotChars = 400_000;
/** A way that says little about the element is only trusted when the better ones had their time. */
const weakAfterMs = 2_000;
const findMs = 10_000;
/** For an element that was there a moment ago. Long, so that a busy machine is not taken for a changed page. */
const readMs = 10_000;
const pollMs = 100;
const weakWays = new Set(['text', 'css']);

/** The page as an accessibility tree in which every element has a reference such as `e12`. */
async function snapshotOf(page) {
  let tree;
  if (typeof page._snapshotForAI === 'function') {
    const seen = await page._snapshotForAI();
    tree = typeof seen === 'string' ? seen : seen.full;
  } else if (typeof page.ariaSnapshot === 'function') {
    tree = await page.ariaSnapshot({ mode: 'ai' });
  } else {
    throw problem('BROKEN', 'its Playwright gives no snapshots with references; use 1.53 or later');
  }
  return tree.slice(0, maxSnapshotChars);
}

/**
 * A text with every number replaced: "Total 12 €" and "Total 14 €" look the same. An element that is
 * found by its place alone, and still looks the same, is surely the one that was meant.
 */
function shapeOf(text) {
  return text !== null && /\d/.test(text) ? text.replace(/\d+(?:[.,]\d+)*/g, '#') : null;
}

const collapse = (text) => text.replace(/\s+/g, ' ').trim();

/** Runs in the page: what can be said about an element. */
function traitsOf(element) {
  const short = (text) => {
    const line = (text ?? '').replace(/\s+/g, ' ').trim();
    return line.length > 0 && line.length <= 80 ? line : null;
  };
  const steps = [];
  for (let at = element; at.parentElement !== null; at = at.parentElement) {
    const place = [...at.parentElement.children].indexOf(at) + 1;
    steps.unshift(`${at.localName}:nth-child(${place})`);
  }
  const anchorOf = (limit) => {
    const way = [];
    for (let at = element; way.length < limit && at.parentElement !== null; at = at.parentElement) {
      way.unshift(`${at.localName}:nth-child(${[...at.parentElement.children].indexOf(at) + 1})`);
      const { id } = at.parentElement;
      if (id !== '' && !/\d{3}/.test(id)) return `[id=${JSON.stringify(id)}] > ${way.join(' > ')}`;
    }
    return null;
  };
  return {
    anchor: anchorOf(3),
    testId: element.getAttribute('data-testid'),
    id: element.id,
    fieldName: element.getAttribute('name'),
    tag: element.localName,
    label: short(element.labels?.[0]?.textContent) ?? short(element.getAttribute('aria-label')),
    placeholder: short(element.getAttribute('placeholder')),
    text: short(element.innerText),
    path: steps.join(' > '),
  };
}

/** Role and name of a reference, from the line that shows it. */
function accessibleNameOf(snapshot, ref) {
  const line = snapshot.split('\n').find((each) => each.includes(`[ref=${ref}]`)) ?? '';
  const [, role, quoted] = /^\s*- '?([a-z]+)(?: "((?:[^"\\]|\\.)*)")?/.exec(line) ?? [];
  return { role, name: quoted === undefined ? null : JSON.parse(`"${quoted}"`) };
}

function locate(root, { by, value, role, name }) {
  if (by === 'testId') return root.getByTestId(value);
  if (by === 'role') return root.getByRole(role, { name, exact: true });
  if (by === 'label') return root.getByLabel(value, { exact: true });
  if (by === 'placeholder') return root.getByPlaceholder(value, { exact: true });
  if (by === 'text') return root.getByText(value, { exact: true });
  return root.locator(value);
}

function framePlace(page, frame) {
  if (frame === page.mainFrame()) return null;
  const { origin, pathname } = URL.canParse(frame.url()) ? new URL(frame.url()) : {};
  return { name: frame.name(), url: `${origin}${pathname}`, index: page.frames().indexOf(frame) };
}

function frameAt(page, place) {
  if (place === null) return page.mainFrame();
  const frames = page.frames();
  return (
    frames.find((frame) => place.name !== '' && frame.name() === place.name) ??
    frames.find((frame) => place.url !== 'null' && frame.url().startsWith(place.url)) ??
    frames[place.index]
  );
}

/** The element of a reference, and the ways to find it again that lead to it and nothing else. */
async function elementOf(page, snapshot, ref, { isRead = false } = {}) {
  const locator = page.locator(`aria-ref=${ref}`);
  const isThere = /^(f\d+)?e\d+$/.test(ref) && (await locator.count()) === 1;
  const handle = isThere
    ? await locator.elementHandle({ timeout: readMs }).catch(() => null)
    : null;
  if (handle === null) {
    throw problem('STALE', `there is no element ${ref} on the page; take a new snapshot`);
  }
  const frame = (await handle.ownerFrame()) ?? page.mainFrame();
  const traits = await handle.evaluate(traitsOf);
  const { role, name } = accessibleNameOf(snapshot, ref);
  const names = [...new Set([name, traits.label, traits.text])].filter(Boolean);
  // What is to be judged must not be part of how it is found: a wrong price would look like a
  // price that is gone.
  const isTold = (text) => isRead && text === traits.text;
  const ways = [
    traits.testId && { by: 'testId', value: traits.testId },
    ...(role === undefined || ['generic', 'text'].includes(role)
      ? []
      : names.filter((each) => !isTold(each)).map((each) => ({ by: 'role', role, name: each }))),
    traits.label && { by: 'label', value: traits.label },
    traits.placeholder && { by: 'placeholder', value: traits.placeholder },
    traits.id && !/\d{3}|^:|[a-f\d]{8}/.test(traits.id)
      ? { by: 'id', value: `[id=${JSON.stringify(traits.id)}]` }
      : null,
    traits.fieldName && {
      by: 'name',
      value: `${traits.tag}[name=${JSON.stringify(traits.fieldName)}]`,
    },
    isRead && traits.anchor && { by: 'anchor', value: traits.anchor },
    traits.text && !isTold(traits.text) && { by: 'text', value: traits.text },
  ].filter(Boolean);
  const unique = [];
  for (const way of ways) {
    if (await leadsTo(frame, way, handle)) unique.push(way);
  }
  if (unique.every(({ by }) => by === 'text')) unique.push({ by: 'css', value: traits.path });
  await handle.dispose();
  const title = [role, name ?? traits.label ?? traits.text].filter(Boolean).join(' ');
  const shape = isRead ? shapeOf(traits.text) : null;
  return { locator, target: { title, frame: framePlace(page, frame), ways: unique, shape } };
}

async function leadsTo(frame, way, handle) {
  const locator = locate(frame, way);
  if ((await locator.count()) !== 1) return false;
  return locator
    .evaluate((found, wanted) => found === wanted, handle, { timeout: readMs })
    .catch(() => false);
}

/** Finds what a learned script means. `isSure` is false when only a weak way led to it. */
async function findTarget(page, target, timeoutMs = findMs) {
  const startedAt = performance.now();
  for (;;) {
    const waitedMs = performance.now() - startedAt;
    const frame = frameAt(page, target.frame);
    for (const way of frame === undefined ? [] : target.ways) {
      const isWeak = weakWays.has(way.by);
      if (isWeak && waitedMs < Math.min(weakAfterMs, timeoutMs / 2) && target.ways.some(isStrong)) {
        continue;
      }
      const locator = locate(frame, way);
      if ((await locator.count().catch(() => 0)) === 1) {
        return { locator, isSure: !isWeak || (await looksAsLearned(locator, target)) };
      }
    }
    if (waitedMs > timeoutMs) return null;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function looksAsLearned(locator, { shape }) {
  if (shape === null) return false;
  const text = await locator.innerText({ timeout: readMs }).catch(() => '');
  return shapeOf(collapse(text)) === shape;
}

const isStrong = ({ by }) => !weakWays.has(by);

module.exports = { elementOf, findTarget, snapshotOf };
