/** Damages files as disks do: flipped bits, ends cut off, files gone, others in their place. */
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

export const damageKinds = [
  ...(['flip 1', 'flip 20', 'flip 200', 'truncate', 'empty', 'delete', 'folder'] as const),
];
export type DamageKind = (typeof damageKinds)[number];

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
