/** What a file is: by its first bytes, since names and content types are only claims. */
import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';

export type FileKind =
  | 'zip'
  | 'gzip'
  | 'zstd'
  | 'brotli'
  | 'png'
  | 'pdf'
  | 'json'
  | 'html'
  | 'text'
  /** Not text; a needle in it is overwritten. */
  | 'binary'
  /** Packed or encrypted in a way that is not opened here. */
  | 'closed';

/** What was said about a file by those who made it. */
export interface FileClaim {
  readonly name: string;
  readonly contentType: string;
}

const headBytes = 65_536;

const signatures: readonly (readonly [hex: string, kind: FileKind])[] = [
  ['504b0304', 'zip'],
  ['504b0506', 'zip'],
  ['504b0708', 'zip'],
  ['1f8b', 'gzip'],
  ['28b52ffd', 'zstd'],
  ['89504e470d0a1a0a', 'png'],
  ['255044462d', 'pdf'],
  ['377abcaf271c', 'closed'], // 7z
  ['526172211a07', 'closed'], // rar
  ['fd377a585a00', 'closed'], // xz
  ['425a68', 'closed'], // bzip2
  ['04224d18', 'closed'], // lz4
  ['1f9d', 'closed'], // compress
  ['1fa0', 'closed'], // compress
  ['4d534346', 'closed'], // cab
  ['53616c7465645f5f', 'closed'], // openssl enc
  ['6167652d656e6372797074696f6e2e6f7267', 'closed'], // age
];

const jsonNames = /\.(?:json|jsonl|ndjson|har|map|trace|network|stacks|webmanifest)$/i;

/** UTF-8 may break off in the midst of a character where the head of the file ends. */
function isText(head: Buffer, isWhole: boolean): boolean {
  if (head.includes(0)) return false;
  if (isUtf8(head)) return true;
  if (isWhole) return false;
  return [1, 2, 3].some((cut) => isUtf8(head.subarray(0, head.length - cut)));
}

function kindOf(head: Buffer, isWhole: boolean, { name, contentType }: FileClaim): FileKind {
  const start = head.subarray(0, 18).toString('hex');
  const signature = signatures.find(([hex]) => start.startsWith(hex));
  // Text may begin with the letters of a signature ("BZh" is one).
  const looksText = isText(head, isWhole);
  if (signature !== undefined && (signature[1] !== 'closed' || !looksText)) return signature[1];
  if (/brotli|\bbr\b/i.test(contentType) || /\.br$/i.test(name)) return 'brotli';
  if (!looksText) {
    // Latin-1 and the like: text by what was said, and without the zeros of binary formats.
    return /^text\/|json|xml|csv/i.test(contentType) && !head.includes(0) ? 'text' : 'binary';
  }
  if (
    /json|\bhar\b/i.test(contentType) ||
    jsonNames.test(name) ||
    /^\ufeff?\s*[[{]/.test(head.toString('utf8', 0, 64))
  )
    return 'json';
  return /html/i.test(contentType) ||
    /\.x?html?$/i.test(name) ||
    /^\s*<!doctype html|^\s*<html/i.test(head.toString('latin1', 0, 256))
    ? 'html'
    : 'text';
}

export async function findFileKind(path: string, claim: FileClaim): Promise<FileKind> {
  await using file = await open(path);
  const head = Buffer.alloc(headBytes);
  const { bytesRead } = await file.read(head, 0, headBytes, 0);
  return kindOf(head.subarray(0, bytesRead), bytesRead < headBytes, claim);
}
