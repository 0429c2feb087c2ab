/** Files of a result: traces, videos and downloads. */
/** @import { Asset } from '@monitor/shared/contract/check-result-routes.ts' */
import { html } from '../dom.js';
import { bytes, inWords, safeLink } from '../format.js';
import { Section } from '../parts/layout.js';
import { List } from '../parts/list.js';
import { useQuery } from '../query.js';

/** Links expire after an hour, so the list is refreshed before that. */
const refreshMs = 30 * 60_000;

/** @type {Partial<Record<Asset['state'], string>>} */
const withoutLink = {
  PENDING: 'not arrived yet',
  WITHHELD: 'kept on the agent',
  EXPIRED: 'deleted after its time',
};

/** @param {{ file: Asset }} props */
function File({ file }) {
  const url = safeLink(file.url);
  const viewer = safeLink(file.viewerUrl);
  return html`<tr>
    <th scope="row" class="mono">
      ${file.name}
      ${file.type === 'video' && url && html`<video controls preload="none" src=${url}></video>`}
    </th>
    <td>${inWords(file.type)}</td>
    <td class="right">${bytes(file.size)}</td>
    <td>
      <div class="actions">
        ${
          viewer &&
          html`<a class="button" href=${viewer} target="_blank" rel="noopener">Open the trace</a>`
        }
        ${
          url &&
          viewer === null &&
          file.type === 'trace' &&
          html`<span class="muted">Shown by <code>npx playwright show-trace</code></span>`
        }
        ${
          url
            ? html`<a class="button" href=${url} download=${file.name.replace(/^.*\//, '')}
                >Download</a
              >`
            : html`<span class="muted">
                ${withoutLink[file.state] ?? inWords(file.state)}${file.reason && `: ${file.reason}`}
              </span>`
        }
      </div>
    </td>
  </tr>`;
}

/** @param {{ checkId: string, resultId: string }} props */
export function Files({ checkId, resultId }) {
  const read = useQuery(
    `v1/check-results/${encodeURIComponent(checkId)}/${encodeURIComponent(resultId)}/assets`,
    { everyMs: refreshMs },
  );
  return html`<${Section} title="Files">
    ${List({
      read,
      label: 'Files of the run',
      columns: ['Name', 'Kind', ['Size', 'right'], 'Get it'],
      pick: ({ assets }) => assets,
      row: (file) => html`<${File} key=${file.name} file=${file} />`,
      after: ({ assets, truncated, entriesTotal }) =>
        truncated && html`<p class="muted">${assets.length} of ${entriesTotal} files.</p>`,
      empty: html`<p class="muted">This run left no files.</p>`,
    })}
  <//>`;
}
