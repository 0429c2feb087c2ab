/** What a damage of a file has touched; see `proof/damage.ts` for the damages. */
import { readFileSync } from 'node:fs';
import type { Touched } from '../../proof/damage.ts';

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
