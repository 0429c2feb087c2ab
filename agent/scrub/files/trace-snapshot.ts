/**
 * Snapshots of documents in traces. A page may show a secret out of several elements, so that none of its
 * texts holds it: `["P",{},["B",{},"sec"],["I",{},"ret"]]`. What stands for an earlier snapshot, `[[2,7]]`,
 * was looked at there.
 */
import { withMasks } from '../redactor.ts';
import type { NeedleSet } from '../needle-set.ts';

/** A mark of the lines that hold one. */
export const snapshotMark = Buffer.from('"frame-snapshot"');

interface Leaf {
  readonly bytes: Buffer;
  replace(text: string): void;
}

function leavesOf(node: unknown): Leaf[] {
  if (!Array.isArray(node) || typeof node[0] !== 'string' || /^(SCRIPT|STYLE)$/.test(node[0]))
    return [];
  return (node as unknown[]).flatMap((child, index) => {
    if (typeof child !== 'string') return leavesOf(child);
    const replace = (text: string): void => void (node[index] = text);
    return index === 0 ? [] : [{ bytes: Buffer.from(child), replace }];
  });
}

/** Masks, in place, the parts of secrets that several texts hold together; true when there were any. */
export function hideSplitSecrets(line: unknown, { isEmpty, matcher }: NeedleSet): boolean {
  const html = (line as { snapshot?: { html?: unknown } } | null)?.snapshot?.html;
  const leaves = isEmpty ? [] : leavesOf(html);
  const regions = matcher.regions(Buffer.concat(leaves.map(({ bytes }) => bytes)));
  let isChanged = false;
  let start = 0;
  for (const { bytes, replace } of leaves) {
    const ends = regions.map((at) => at - start);
    start += bytes.length;
    const within = ends.flatMap((from, at) => {
      const to = ends[at + 1] ?? 0;
      const isSplit = (from < 0 || to > bytes.length) && to > 0 && from < bytes.length;
      return at % 2 === 0 && isSplit ? [Math.max(0, from), Math.min(bytes.length, to)] : [];
    });
    if (within.length === 0) continue;
    replace(withMasks(bytes, within).toString());
    isChanged = true;
  }
  return isChanged;
}
