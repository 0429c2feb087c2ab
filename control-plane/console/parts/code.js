/** Machine-written text: bodies, headers, scripts. Long texts are collapsed. */
import { html, useState } from '../dom.js';
import { bytes } from '../format.js';

const shownAtOnce = 20_000;

/**
 * Indented JSON; other text unchanged.
 * @param {string} text
 */
export function prettyJson(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {{ text: string, what?: string }} props */
export function CopyButton({ text, what = 'Copy' }) {
  const [word, setWord] = useState(what);
  if (navigator.clipboard === undefined) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setWord('Copied');
    } catch {
      setWord('Not allowed by the browser');
    }
    setTimeout(() => setWord(what), 2000);
  };
  return html`<button type="button" class="plain-button" onClick=${copy}>${word}</button>`;
}

/** @param {{ text: string, label: string, isTruncated?: boolean }} props */
export function Code({ text, label, isTruncated = false }) {
  const [isWhole, setWhole] = useState(false);
  const pretty = prettyJson(text);
  const isCut = !isWhole && pretty.length > shownAtOnce;
  return html`<div class="code">
    <div class="code-head">
      <span>${label}${isTruncated ? ' (only its beginning was kept)' : ''}</span>
      <${CopyButton} text=${text} />
    </div>
    <pre tabindex="0" role="region" aria-label=${label}>
${isCut ? pretty.slice(0, shownAtOnce) : pretty}</pre>
    ${
      isCut &&
      html`<button type="button" class="plain-button" onClick=${() => setWhole(true)}>
        Show all ${bytes(text.length)}
      </button>`
    }
  </div>`;
}

/**
 * A list of names and values, such as headers.
 * @param {{ label: string, pairs?: Record<string, unknown> | { key: string, value: string }[] }} props
 */
export function Pairs({ label, pairs }) {
  const entries = Array.isArray(pairs)
    ? pairs.map(({ key, value }) => [key, value])
    : Object.entries(pairs ?? {});
  if (entries.length === 0) return null;
  return html`<div class="code">
    <div class="code-head">
      <span>${label}</span>
      <${CopyButton} text=${entries.map(([name, value]) => `${name}: ${value}`).join('\n')} />
    </div>
    <dl class="pairs">
      ${entries.map(
        ([name, value]) =>
          html`<div key=${name}>
            <dt>${name}</dt>
            <dd>${Array.isArray(value) ? value.join(', ') : String(value)}</dd>
          </div>`,
      )}
    </dl>
  </div>`;
}
