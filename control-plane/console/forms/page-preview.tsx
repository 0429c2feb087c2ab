/** The public page with the content of the form, in a frame that runs nothing and leads nowhere. */
import type { Values } from './values.ts';
import { useRef, useState } from 'preact/hooks';
import { Select } from '../parts/layout.tsx';
import { usePreview } from './preview.ts';

const names = [
  ...['name', 'description', 'logo', 'themeColors', 'defaultTheme', 'language', 'languages'],
  ...['timezone'],
];

/** What of a form the preview takes: cards without their ids. */
function bodyOf(values: Values) {
  const cards = Array.isArray(values.cards) ? values.cards : [];
  const given = names.filter((name) => values[name] !== undefined && values[name] !== '');
  return {
    ...Object.fromEntries(given.map((name) => [name, values[name]])),
    name: String(values.name ?? ''),
    cards: cards.map(({ name, services }) => ({
      name: String(name ?? ''),
      services: (services ?? []).map(({ id }: { id: string }) => ({ id })),
    })),
  };
}

/** The page of the console allows no styles in the document of the frame, but adopted ones. */
function Frame({ page, css, width }: { page: string; css: string; width: string }) {
  const frame = useRef<HTMLIFrameElement | null>(null);
  const dress = () => {
    const inside = frame.current?.contentDocument;
    const view = inside?.defaultView as (Window & typeof globalThis) | null | undefined;
    if (inside == null || view == null) return;
    const sheet = new view.CSSStyleSheet();
    sheet.replaceSync(css);
    inside.adoptedStyleSheets = [sheet];
    // Its links and buttons do nothing here.
    inside.body.inert = true;
  };
  return (
    <div class={`page-preview ${width}`}>
      <iframe
        ref={frame}
        title="Preview of the page"
        sandbox="allow-same-origin"
        srcdoc={page}
        onLoad={dress}
      />
    </div>
  );
}

export function PagePreview({ values, id }: { values: Values; id?: string | undefined }) {
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const [scheme, setScheme] = useState(prefersDark ? 'DARK' : 'LIGHT');
  const [width, setWidth] = useState('phone');
  const { data, problem } = usePreview('v1/status-pages/preview', {
    ...bodyOf(values),
    ...(id !== undefined && { statusPageId: id }),
    scheme,
  });
  const hasOtherLogo = /^https?:/.test(String(values.logo ?? ''));
  return (
    <section class="card" aria-labelledby="page-preview">
      <h2 id="page-preview">Preview</h2>
      <div class="filters">
        <Select
          label="Visitor prefers"
          value={scheme}
          options={[
            ['LIGHT', 'Light'],
            ['DARK', 'Dark'],
          ]}
          onChange={setScheme}
        />
        <Select
          label="Screen"
          value={width}
          options={[
            ['phone', 'Phone'],
            ['desktop', 'Desktop'],
          ]}
          onChange={setWidth}
        />
      </div>
      {problem !== '' && (
        <p class="notice warning" role="status">
          {problem}
        </p>
      )}
      {data !== null && <Frame key={data.css} page={data.html} css={data.css} width={width} />}
      {data?.hasSamples === true && <p class="muted">With sample data where there is none yet.</p>}
      {hasOtherLogo && (
        <p class="muted">
          The console loads nothing from other hosts, so the logo is not shown here.
        </p>
      )}
    </section>
  );
}
