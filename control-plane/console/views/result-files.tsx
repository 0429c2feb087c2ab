/** Files of a result: traces, videos and downloads. */
import type { Asset } from '@monitor/shared/contract/check-result-routes.ts';
import type { NamedFile } from '@monitor/shared/encryption/encryption.ts';
import { decryptedFile, type Shown } from '../decryption.ts';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { bytes, inWords, safeLink } from '../format.ts';
import { Action, Section } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Shots } from '../parts/shots.tsx';
import { useQuery } from '../query.ts';
import { scriptOf } from '../state.ts';

/** Links expire after an hour, so the list is refreshed before that. */
const refreshMs = 30 * 60_000;

const withoutLink: Partial<Record<Asset['state'], string>> = {
  PENDING: 'not arrived yet',
  WITHHELD: 'kept on the agent',
  EXPIRED: 'expired',
};

/** Decrypts a file and hands it to the browser, as a download does. */
function DecryptedDownload({ url, file, shown }: { url: string; file: NamedFile; shown: Shown }) {
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
  return (
    <>
      <Action word="Decrypt and download" busy="Decrypting" run={run} />
      {problem !== '' && (
        <span class="failure" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

function File({ file, shown }: { file: Asset; shown: Shown }) {
  const named = shown.files.find(({ storedAs }) => storedAs === file.name);
  const reason = named?.withheld ?? file.reason;
  const url = safeLink(file.url);
  const viewer = shown.state === 'plain' ? safeLink(file.viewerUrl) : null;
  return (
    <tr>
      <th scope="row" class="mono">
        {named?.name ?? file.name}
        {file.type === 'video' && url && shown.state === 'plain' && (
          <video controls preload="none" src={url} />
        )}
      </th>
      <td>{inWords(file.type)}</td>
      <td class="right">{bytes(file.size)}</td>
      <td>
        <div class="actions">
          {viewer && (
            <a class="button" href={viewer} target="_blank" rel="noopener">
              Open the trace
            </a>
          )}
          {url && viewer === null && shown.state === 'plain' && file.type === 'trace' && (
            <span class="muted">
              View it with <code>npx playwright show-trace</code>
            </span>
          )}
          {url && named !== undefined ? (
            <DecryptedDownload url={url} file={named} shown={shown} />
          ) : url ? (
            <a class="button" href={url} download={file.name.replace(/^.*\//, '')}>
              Download
            </a>
          ) : (
            <span class="muted">
              {withoutLink[file.state] ?? inWords(file.state)}
              {reason && `: ${reason}`}
            </span>
          )}
        </div>
      </td>
    </tr>
  );
}

interface OfResult {
  checkId: string;
  resultId: string;
  shown: Shown;
}

const useFiles = ({ checkId, resultId }: OfResult) =>
  useQuery(
    `v1/check-results/${encodeURIComponent(checkId)}/${encodeURIComponent(resultId)}/assets`,
    { everyMs: refreshMs },
  );

/** True for pictures that the test runner takes when a test fails; those of a suite have its title for a name. */
function ofFailure({ result }: Shown): (name: string) => boolean {
  const failed = scriptOf(result)?.tests.filter(({ outcome }) => outcome === 'unexpected') ?? [];
  const names = failed.map(({ title }) => title.normalize('NFKD').replace(/[^A-Za-z0-9]+/g, '-'));
  return (name) =>
    /\btest-failed-\d+\.png$/.test(name) ||
    (!/-(expected|actual|diff)\.png$/.test(name) &&
      names.some((each) => name.startsWith(`screenshots/${each.slice(0, 80)}`)));
}

/** The page when a test failed, and what the trace shows. */
export function AtFailure(of: OfResult & { children: ComponentChildren }) {
  const { data } = useFiles(of);
  const files = of.shown.state === 'plain' ? (data?.assets ?? []) : [];
  const isOfFailure = ofFailure(of.shown);
  const photographed = files.find(({ name, url }) => url !== null && isOfFailure(name));
  const trace = files.map(({ viewerUrl }) => safeLink(viewerUrl)).find((url) => url !== null);
  return (
    <>
      <div class="actions">
        {trace && (
          <a class="button" href={trace} target="_blank" rel="noopener">
            Open the trace
          </a>
        )}
        {of.children}
      </div>
      {photographed?.url && <Shots links={[photographed.url]} name="the failure" isLarge />}
    </>
  );
}

export function Files(of: OfResult) {
  const { shown } = of;
  const read = useFiles(of);
  return (
    <Section title="Files">
      {List({
        read,
        label: 'Files of the run',
        columns: ['Name', 'Kind', ['Size', 'right'], 'Download'],
        pick: ({ assets }) => assets,
        row: (file) => <File key={file.name} file={file} shown={shown} />,
        after: ({ assets, truncated, entriesTotal }) =>
          truncated && (
            <p class="muted">
              {assets.length} of {entriesTotal} files.
            </p>
          ),
        empty: <p class="muted">This run left no files.</p>,
      })}
    </Section>
  );
}
