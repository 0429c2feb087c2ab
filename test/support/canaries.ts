/**
 * Secrets to send through the product, and a search for what is left of them. Written apart from the
 * scrubber, with other means, so that the two can disagree.
 */
import { brotliDecompressSync, gunzipSync, inflateRawSync, zstdDecompressSync } from 'node:zlib';

const special = [
  '@',
  '%',
  '!',
  '+',
  '/',
  '"',
  "'",
  '\\',
  '&',
  '<',
  '=',
  ' ',
  '#',
  '?',
  ';',
  'é',
  '日',
  '🔑',
];
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function canary(random: () => number, index: number): string {
  const pick = (from: readonly string[] | string): string =>
    from[Math.floor(random() * from.length)] ?? 'x';
  const length =
    index % 8 === 7 ? 1_000 + Math.floor(random() * 3_096) : 8 + Math.floor(random() * 56);
  const isMultiLine = index % 5 === 4;
  let text = '';
  while (text.length < length) {
    if (isMultiLine && text.length > 0 && text.length % 40 < 2) text += '\n';
    text += random() < (index % 3 === 0 ? 0 : 0.2) ? pick(special) : pick(letters);
  }
  // An end that is white space, or half of a character, would make other secrets of them.
  return `${text
    .slice(0, Math.min(length, 4_095))
    .replace(/[\ud800-\udbff]$/, '')
    .trim()}Z`;
}

/** 64 secrets of 8 to 4,096 characters; every fifth of several lines, every eighth long. */
export function canarySecrets(random: () => number): string[] {
  return Array.from({ length: 64 }, (_, index) => canary(random, index));
}

const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)];
const hex = (byte: number): string => (byte < 16 ? '0' : '') + byte.toString(16);
const units = (text: string): number[] => text.split('').map((unit) => unit.charCodeAt(0));

function percentAll(text: string, keep: RegExp): string {
  return utf8(text)
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return keep.test(character) ? character : `%${hex(byte).toUpperCase()}`;
    })
    .join('');
}

const lowerHex = (text: string): string =>
  text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
const inJson = (text: string): string => JSON.stringify({ text }).slice('{"text":"'.length, -2);

function named(text: string, apostrophe: string): string {
  const entities: Record<string, string> = {
    ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": apostrophe },
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** Base64 of the secret behind so many other bytes; only what the secret alone decides. */
function shifted(text: string, offset: number, alphabet: 'base64' | 'base64url'): string {
  const bytes = Buffer.from([...Array<number>(offset).fill(0), ...utf8(text)]);
  const encoded = bytes.toString(alphabet).replaceAll('=', '');
  const incomplete = bytes.length % 3 === 0 ? 0 : 1;
  return encoded.slice([0, 2, 3][offset], encoded.length - incomplete);
}

const swapped = (text: string): Buffer =>
  Buffer.from(units(text).flatMap((unit) => [unit >> 8, unit & 255]));

/** The forms a secret can leave in, by name. */
export function encodingsOf(secret: string): Record<string, Buffer> {
  const url = encodeURIComponent(secret);
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  const path = new URL(`http://h/${url}`).pathname.slice(1);
  const forms: Record<string, string | Buffer> = {
    ...{ raw: secret, 'url component': url, 'url component, lower case': lowerHex(url) },
    'url whole': encodeURI(secret),
    'url whole, lower case': lowerHex(encodeURI(secret)),
    'url strict': percentAll(secret, /[A-Za-z0-9_.~-]/),
    ...{ 'url every byte': percentAll(secret, /(?!)/), 'url path': path },
    ...{ 'url twice': encodeURIComponent(url), form },
    ...{ 'form with %20': form.replaceAll('+', '%20'), json: inJson(secret) },
    'json in json': inJson(inJson(secret)),
    'json with escaped slashes': inJson(secret).replaceAll('/', '\\/'),
    'json in ascii': inJson(secret).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
    'unicode escapes': units(secret)
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
    'unicode escapes, upper case': units(secret)
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0').toUpperCase()}`)
      .join(''),
    'html &#39;': named(secret, '&#39;'),
    'html &#x27;': named(secret, '&#x27;'),
    'html decimal': Array.from(secret, (character) => `&#${character.codePointAt(0)};`).join(''),
    'html hex': Array.from(
      secret,
      (character) => `&#x${(character.codePointAt(0) ?? 0).toString(16)};`,
    ).join(''),
    xml: named(secret, '&apos;'),
    'base64 at 0': shifted(secret, 0, 'base64'),
    'base64 at 1': shifted(secret, 1, 'base64'),
    'base64 at 2': shifted(secret, 2, 'base64'),
    'base64 padded': Buffer.from(secret).toString('base64'),
    'base64url at 0': shifted(secret, 0, 'base64url'),
    'base64url at 1': shifted(secret, 1, 'base64url'),
    'base64url at 2': shifted(secret, 2, 'base64url'),
    'basic credentials': Buffer.from(`user:${secret}`).toString('base64'),
    hex: utf8(secret).map(hex).join(''),
    'hex, upper case': utf8(secret).map(hex).join('').toUpperCase(),
    'quoted-printable': utf8(secret)
      .map((byte) =>
        byte === 61 || byte < 32 || byte > 126
          ? `=${hex(byte).toUpperCase()}`
          : String.fromCharCode(byte),
      )
      .join(''),
    'utf-16le': Buffer.from(secret, 'utf16le'),
    'utf-16be': swapped(secret),
    'shell single quotes': secret.split("'").join(`'\\''`),
    'sql quotes': secret.split("'").join("''"),
    'csv quotes': secret.split('"').join('""'),
    'windows line ends': secret.split('\n').join('\r\n'),
    nfd: secret.normalize('NFD'),
  };
  return Object.fromEntries(
    Object.entries(forms).map(([name, bytes]) => [
      name,
      typeof bytes === 'string' ? Buffer.from(bytes) : bytes,
    ]),
  );
}

function attempt(unpack: () => Buffer): Buffer[] {
  try {
    return [unpack()];
  } catch {
    return [];
  }
}

/** Entries by their local headers alone: archives need not be whole to be read. */
function zipEntries(buffer: Buffer): Buffer[] {
  const found: Buffer[] = [];
  const header = Buffer.from('PK\x03\x04', 'latin1');
  for (let at = buffer.indexOf(header); at >= 0; at = buffer.indexOf(header, at + 4)) {
    if (at + 30 > buffer.length) break;
    const start = at + 30 + buffer.readUInt16LE(at + 26) + buffer.readUInt16LE(at + 28);
    if (buffer.readUInt16LE(at + 8) !== 8) continue;
    // Trailing data is no error to the decompressor.
    found.push(...attempt(() => inflateRawSync(buffer.subarray(start))));
  }
  return found;
}

/** What can be unpacked from a buffer: archives, compressed files, base64. */
function unpacked(buffer: Buffer): Buffer[] {
  const found = zipEntries(buffer);
  if (buffer[0] === 0x1f && buffer[1] === 0x8b) found.push(...attempt(() => gunzipSync(buffer)));
  else if (buffer.length > 4 && buffer.readUInt32LE(0) === 0xfd2fb528)
    found.push(...attempt(() => zstdDecompressSync(buffer)));
  else if (buffer.length < 10_000_000) found.push(...attempt(() => brotliDecompressSync(buffer)));
  const runs = [...buffer.toString('latin1').matchAll(/[A-Za-z0-9+/_-]{16,}={0,2}/g)];
  // Archives are opened in their turn; all others together are one text to search.
  for (const [run] of runs.filter(([text]) => /^(?:UEsD|H4sI|KLUv)/.test(text)))
    found.push(Buffer.from(run, 'base64'));
  for (const offset of [0, 1, 2, 3]) {
    const decoded = runs.map(([run]) => Buffer.from(run.slice(offset), 'base64'));
    if (decoded.length > 0)
      found.push(Buffer.concat(decoded.flatMap((bytes) => [bytes, Buffer.from('\n')])));
  }
  return found;
}

/** `secret 3 as json` for every form of a secret that is in the buffer, or in what is packed in it. */
export function findCanaries(buffer: Buffer, secrets: readonly string[]): string[] {
  const forms = secrets.map((secret) => Object.entries(encodingsOf(secret)));
  const found = new Set<string>();
  const search = (bytes: Buffer, depth: number): void => {
    forms.forEach((list, index) => {
      for (const [name, form] of list)
        if (bytes.includes(form)) found.add(`secret ${index} as ${name}`);
    });
    if (depth < 3) for (const inner of unpacked(bytes)) search(inner, depth + 1);
  };
  search(buffer, 0);
  return [...found];
}
