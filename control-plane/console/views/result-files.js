/** Files of a result: traces, videos and downloads. */
/** @import { Asset } from '@monitor/shared/contract/check-result-routes.ts' */
/** @import { NamedFile } from '@monitor/shared/encryption/encryption.ts' */
/** @import { Shown } from '../decryption.js' */
import { decryptedFile } from '../decryption.js';
import { html, useState } from '../dom.js';
import { bytes, inWords, safeLink } from '../format.js';
import { Action, Section } from '../parts/layout.js';
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

/**
 * Decrypts a file and hands it to the browser, as a download does.
 * @param {{ url: string, file: NamedFile, shown: Shown }} props
 */
function DecryptedDownload({ url, file, shown }) {
  const [problem, setProblem] = useState('');
  const run = async () => {
    setProblem('');
    try {
      const blob = URL.createObjectURL(await decryptedFile(shown.result, url, file));
      const anchor = document.createElement('a');
      anchor.href = blob;
      anchor.download = file.name.replace(/^.*\//, '');
      anchor.click();
      // The browser has begun to read it by then.
      setTimeout(() => URL.revokeObjectURL(blob), 60_000);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return html`<${Action} word="Decrypt and download" busy="Decrypting" run=${run} />
    ${problem !== '' && html`<span class="failure" role="alert">${problem}</span>`}`;
}

/** @param {{ file: Asset, shown: Shown }} props */
function File({ file, shown }) {
  const named = shown.files.find(({ storedAs }) => storedAs === file.name);
  const reason = named?.withheld ?? file.reason;
  const url = safeLink(file.url);
  const viewer = shown.state === 'plain' ? safeLink(file.viewerUrl) : null;
  return html`<tr>
    <th scope="row" class="mono">
      ${named?.name ?? file.name}
      ${file.type === 'video' && url && shown.state === 'plain' && html`<video controls preload="none" src=${url}></video>`}
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
          shown.state === 'plain' &&
          file.type === 'trace' &&
          html`<span class="muted">Shown by <code>npx playwright show-trace</code></span>`
        }
        ${
          url && named !== undefined
            ? html`<${DecryptedDownload} url=${url} file=${named} shown=${shown} />`
            : url
              ? html`<a class="button" href=${url} download=${file.name.replace(/^.*\//, '')}
                >Download</a
              >`
              : html`<span class="muted">
                ${withoutLink[file.state] ?? inWords(file.state)}${reason && `: ${reason}`}
              </span>`
        }
      </div>
    </td>
  </tr>`;
}

/** @param {{ checkId: string, resultId: string, shown: Shown }} props */
export function Files({ checkId, resultId, shown }) {
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
      row: (file) => html`<${File} key=${file.name} file=${file} shown=${shown} />`,
      after: ({ assets, truncated, entriesTotal }) =>
        truncated && html`<p class="muted">${assets.length} of ${entriesTotal} files.</p>`,
      empty: html`<p class="muted">This run left no files.</p>`,
    })}
  <//>`;
}
