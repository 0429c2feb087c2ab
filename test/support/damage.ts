/** Damages files as disks do: flipped bits, ends cut off, files gone, others in their place. */
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

export type DamageKind =
  'flip 1' | 'flip 20' | 'flip 200' | 'truncate' | 'empty' | 'delete' | 'folder';

export const damageKinds: readonly DamageKind[] = [
  'flip 1',
  'flip 20',
  'flip 200',
  'truncate',
  'empty',
  'delete',
  'folder',
];

/** Bytes of a file that a damage has changed or taken away. */
export interface Touched {
  /** Offsets. */
  bytes: readonly number[];
  /** Nothing from here on is left. */
  end: number;
}

/** Does it to a file; gives null where there is no file to damage. */
export function damageFile(path: string, kind: DamageKind, random: () => number): Touched | null {
  if (!existsSync(path)) return null;
  const content = readFileSync(path);
  const whole = { bytes: [], end: content.length };
  if (kind === 'delete' || kind === 'folder') {
    rmSync(path);
    if (kind === 'folder') mkdirSync(path);
    return { bytes: [], end: 0 };
  }
  if (content.length === 0) return whole;
  if (kind === 'empty' || kind === 'truncate') {
    const end = kind === 'empty' ? 0 : Math.floor(random() * content.length);
    truncateSync(path, end);
    return { bytes: [], end };
  }
  const bytes: number[] = [];
  for (let flip = 0; flip < Number(kind.slice(5)); flip += 1) {
    const at = Math.floor(random() * content.length);
    content[at] = (content[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    bytes.push(at);
  }
  writeFileSync(path, content);
  return { bytes, end: content.length };
}

/** How many cases a seeded test plays: TEST_CASES, or what suits a test run. */
export function testCases(usual: number): number {
  return Number(process.env['TEST_CASES'] ?? usual);
}

const frameHeaderBytes = 24;

/** Where the checksum stands in the header of a frame. Without it the frame behind cannot be verified. */
const checksumAt = { from: 16, to: 24 };
/** A shorter end could be that of any record. */
const shortestEnd = 5;

/** The end of a record that alone is on the last of its overflow pages, which begins with a number of a page. */
function endOn(page: Buffer): string | null {
  const [end] = /^[^"]{0,40}"\}/.exec(page.subarray(4, 48).toString('latin1')) ?? [];
  return end === undefined || end.length < shortestEnd ? null : end;
}

/** Texts of which a part lies on a page that was touched; `path` is a copy from before the damage. */
export function touchedTexts(path: string, touched: Touched, texts: Iterable<string>): Set<string> {
  const content = readFileSync(path);
  const isLog = path.endsWith('-wal');
  const pageBytes = isLog ? content.readUInt32BE(8) : content.readUInt16BE(16);
  const size = isLog ? frameHeaderBytes + pageBytes : pageBytes;
  const start = isLog ? 32 : 0;
  const pageOf = (at: number): number => Math.floor((at - start) / size);
  const pages = new Set(touched.bytes.map(pageOf));
  if (isLog) {
    for (const at of touched.bytes) {
      const inFrame = (at - start) % size;
      if (inFrame >= checksumAt.from && inFrame < checksumAt.to) pages.add(pageOf(at) + 1);
    }
  }
  const isTouched = (page: number): boolean =>
    pages.has(page) || start + (page + 1) * size > touched.end;
  const ends: string[] = [];
  for (let page = 0; start + page * size < content.length; page += 1) {
    const from = start + page * size + (isLog ? frameHeaderBytes : 0);
    const end = isTouched(page) ? endOn(content.subarray(from, from + pageBytes)) : null;
    if (end !== null) ends.push(end);
  }
  const found = new Set<string>();
  for (const text of texts) {
    if (ends.some((end) => `${text} "}`.endsWith(end))) found.add(text);
    for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + 1)) {
      if (isTouched(pageOf(at)) || pages.has(pageOf(at + text.length))) found.add(text);
    }
  }
  return found;
}
