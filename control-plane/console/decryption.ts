/**
 * Results that only the holder of a private key reads. The key stays in the memory of this page, and, when
 * the user chooses so, its file in the storage of this tab; nothing of it is sent.
 */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import type { KeyFile, NamedFile, OpenKey } from '@monitor/shared/encryption/encryption.ts';
import { useEffect, useState } from 'preact/hooks';
import { useQuery } from './query.ts';
import { isSignedIn, onSessionChange } from './session.ts';

const storedAs = 'console.result-key';

let key: OpenKey | null = null;
const listeners = new Set<() => void>();

/** Loaded with the first encrypted result. */
const library = () => import('@monitor/shared/encryption/encryption.ts');

function use(next: OpenKey | null) {
  key = next;
  for (const listener of listeners) listener();
}

export function forgetKey() {
  sessionStorage.removeItem(storedAs);
  use(null);
}

onSessionChange(() => {
  if (isSignedIn() === false) forgetKey();
});

/** The text of the key file that the user left in this tab. */
export const keptKeyFile = () => sessionStorage.getItem(storedAs);

/** Whether a key file needs a passphrase. Throws for another file. */
export async function needsPassphrase(text: string) {
  const { parseKeyFile } = await library();
  return parseKeyFile(text).encryptedPrivateKey !== undefined;
}

/** Opens a key file for all encrypted results. Throws with the reason. */
export async function useKeyFile(text: string, passphrase: string, isKept: boolean) {
  const { openKeyFile, parseKeyFile } = await library();
  const opened = await openKeyFile(parseKeyFile(text), () => passphrase);
  if (isKept) sessionStorage.setItem(storedAs, text);
  use(opened);
}

/** A new pair of keys; without a passphrase where that is empty. */
export async function makeKeyFile(passphrase: string): Promise<KeyFile> {
  const { createKeyFile } = await library();
  return createKeyFile(passphrase === '' ? null : passphrase);
}

function contextOf({ checkId, id, runLocation, attempts }: CheckResult) {
  return { checkId, resultId: id, location: runLocation, attempt: attempts };
}

/** A result as it can be shown. */
export interface Shown {
  result: CheckResult;
  state: 'plain' | 'locked' | 'opening' | 'open';
  problem: string;
  files: NamedFile[];
  keyId: string;
}

async function decrypted(
  result: CheckResult,
  by: OpenKey,
): Promise<Pick<Shown, 'result' | 'files'>> {
  const { encryptedResult, ...rest } = result;
  const { openResult } = await library();
  if (encryptedResult?.envelope == null) return { result, files: [] };
  const content = await openResult(encryptedResult.envelope, contextOf(result), by);
  const details = content.field === null ? {} : { [content.field]: content.details };
  return { result: { ...rest, ...details } as CheckResult, files: content.files };
}

/** The result, decrypted where there is a key for it. */
export function useDecrypted(result: CheckResult | undefined): Shown | undefined {
  const [, redraw] = useState(0);
  const [opened, setOpened] = useState<{ of: CheckResult; by: OpenKey; shown: Shown } | null>(null);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  const by = key;
  useEffect(() => {
    if (result?.encryptedResult?.envelope == null || by === null) return;
    const base = { result, problem: '', files: [], keyId: by.id };
    decrypted(result, by).then(
      (content) => setOpened({ of: result, by, shown: { ...base, ...content, state: 'open' } }),
      (error) => {
        const problem = `This result cannot be decrypted: ${error.message}.`;
        setOpened({ of: result, by, shown: { ...base, state: 'locked', problem } });
      },
    );
  }, [result, by]);
  if (result === undefined) return undefined;
  const nothing = { result, problem: '', files: [], keyId: '' };
  if (result.encryptedResult?.envelope == null) return { ...nothing, state: 'plain' };
  if (by === null) return { ...nothing, state: 'locked' };
  if (opened?.of === result && opened.by === by) return opened.shown;
  return { ...nothing, state: 'opening' };
}

/** A file of a result, decrypted. It has no type: the given one may be forged. */
export async function decryptedFile(result: CheckResult, url: string, file: NamedFile) {
  if (key === null) throw new Error('there is no key');
  const { openFile } = await library();
  // Links name the public address, which may not be the one of this page.
  const { pathname, search } = new URL(url, location.href);
  const answer = await fetch(`${pathname}${search}`);
  if (!answer.ok || answer.body === null) {
    throw new Error(`the file cannot be read: status ${answer.status}`);
  }
  const source = answer.body as unknown as AsyncIterable<Uint8Array>;
  const expected = { ...contextOf(result), name: file.storedAs };
  const pieces = [];
  for await (const piece of openFile(source, key, expected)) pieces.push(piece);
  return new Blob(pieces, { type: 'application/octet-stream' });
}

/** Pictures that are shown, by their first bytes. */
const pictureTypes = [
  { type: 'image/png', begins: /^\x89PNG\r\n\x1a\n/ },
  { type: 'image/jpeg', begins: /^\xff\xd8\xff/ },
  { type: 'image/webp', begins: /^RIFF[^]{4}WEBP/ },
];
const beginningBytes = 12;
const maxPictures = 50;
const maxPictureBytes = 10_000_000;

/** A picture as an address for `<img>`; null for another file. */
async function pictureAddress(file: Blob): Promise<string | null> {
  const bytes = new Uint8Array(await file.slice(0, beginningBytes).arrayBuffer());
  const beginning = String.fromCharCode(...bytes);
  const known = pictureTypes.find(({ begins }) => begins.test(beginning));
  if (known === undefined) return null;
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([file], { type: known.type }));
  });
}

const shotsOf = ({ browserCheckResult }: CheckResult) =>
  new Set(browserCheckResult?.pages.flatMap(({ screenshots }) => screenshots) ?? []);

/** The result with the screenshots of its pages as pictures, as they are decrypted. */
export function useDecryptedShots({ result, state, files }: Shown): CheckResult {
  const shots = state === 'open' ? shotsOf(result) : new Set();
  const { checkId, id } = result;
  const listed = useQuery(shots.size === 0 ? null : `v1/check-results/${checkId}/${id}/assets`);
  const assets = listed.data?.assets;
  const [pictures, setPictures] = useState<Record<string, string>>({});
  useEffect(() => {
    let isGone = false;
    const decryptAll = async () => {
      const wanted = files.filter(({ name }) => shots.has(`artifact:${name}`));
      for (const file of wanted.slice(0, maxPictures)) {
        const asset = assets?.find(({ name }) => name === file.storedAs);
        if (asset?.url == null || asset.size > maxPictureBytes) continue;
        const picture = await decryptedFile(result, asset.url, file)
          .then(pictureAddress)
          .catch(() => null);
        if (isGone) return;
        if (picture !== null) {
          setPictures((before) => ({ ...before, [file.storedAs]: picture }));
        }
      }
    };
    void decryptAll();
    return () => {
      isGone = true;
    };
  }, [assets, result]);
  if (shots.size === 0 || result.browserCheckResult === null) return result;
  const storedNames = new Map(files.map(({ name, storedAs }) => [`artifact:${name}`, storedAs]));
  const pages = result.browserCheckResult.pages.map((page) => ({
    ...page,
    screenshots: page.screenshots.map((shot) => pictures[storedNames.get(shot) ?? ''] ?? shot),
  }));
  return { ...result, browserCheckResult: { ...result.browserCheckResult, pages } };
}
