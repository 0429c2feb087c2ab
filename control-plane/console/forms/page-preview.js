/** The public page with the content of the form, in a frame that runs nothing and leads nowhere. */
/** @import { Values } from './values.js' */
import { html, useRef, useState } from '../dom.js';
import { Select } from '../parts/layout.js';
import { usePreview } from './preview.js';

const names = [
  ...['name', 'description', 'logo', 'themeColors', 'defaultTheme', 'language', 'languages'],
  ...['timezone'],
];

/**
 * What of a form the preview takes: cards without their ids.
 * @param {Values} values
 */
function bodyOf(values) {
  const cards = Array.isArray(values.cards) ? values.cards : [];
  const given = names.filter((name) => values[name] !== undefined && values[name] !== '');
  return {
    ...Object.fromEntries(given.map((name) => [name, values[name]])),
    name: String(values.name ?? ''),
    cards: cards.map(({ name, services }) => ({
      name: String(name ?? ''),
      services: (services ?? []).map((/** @type {{ id: string }} */ { id }) => ({ id })),
    })),
  };
}

/**
 * The page of the console allows no styles in the document of the frame, but adopted ones.
 * @param {{ page: string, css: string, width: string }} props
 */
function Frame({ page, css, width }) {
  const frame = useRef(/** @type {HTMLIFrameElement | null} */ (null));
  const dress = () => {
    const inside = frame.current?.contentDocument;
    const view = /** @type {(Window & typeof globalThis) | null | undefined} */ (
      inside?.defaultView
    );
    if (inside == null || view == null) return;
    const sheet = new view.CSSStyleSheet();
    sheet.replaceSync(css);
    inside.adoptedStyleSheets = [sheet];
    // Its links and buttons do nothing here.
    inside.body.inert = true;
  };
  return html`<div class=${`page-preview ${width}`}>
    <iframe
      ref=${frame}
      title="Preview of the page"
      sandbox="allow-same-origin"
      srcdoc=${page}
      onLoad=${dress}
    ></iframe>
  </div>`;
}

/** @param {{ values: Values, id?: string }} props */
export function PagePreview({ values, id }) {
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const [scheme, setScheme] = useState(prefersDark ? 'DARK' : 'LIGHT');
  const [width, setWidth] = useState('phone');
  const { data, problem } = usePreview('v1/status-pages/preview', {
    ...bodyOf(values),
    ...(id !== undefined && { statusPageId: id }),
    scheme,
  });
  const hasOtherLogo = /^https?:/.test(String(values.logo ?? ''));
  return html`<section class="card" aria-labelledby="page-preview">
    <h2 id="page-preview">Preview</h2>
    <div class="filters">
      <${Select}
        label="Visitor prefers"
        value=${scheme}
        options=${[
          ['LIGHT', 'Light'],
          ['DARK', 'Dark'],
        ]}
        onChange=${setScheme}
      />
      <${Select}
        label="Screen"
        value=${width}
        options=${[
          ['phone', 'Phone'],
          ['desktop', 'Desktop'],
        ]}
        onChange=${setWidth}
      />
    </div>
    ${problem !== '' && html`<p class="notice warning" role="status">${problem}</p>`}
    ${data !== null && html`<${Frame} key=${data.css} page=${data.html} css=${data.css} width=${width} />`}
    ${data?.hasSamples === true && html`<p class="muted">With samples where there are no data.</p>`}
    ${
      hasOtherLogo &&
      html`<p class="muted">
        The logo is at another host, from which the console loads nothing: its name stands there.
      </p>`
    }
  </section>`;
}
