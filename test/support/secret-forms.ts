/**
 * What becomes of a secret on its way through headers, documents and logs, one function a form. Written
 * apart from the scrubber: with Node's own encoders where there are some.
 */
import { inspect } from 'node:util';
import { htmlNames } from '../../agent/scrub/html-names.ts';

type Form = (secret: string) => Buffer | string | null;

const utf8 = (secret: string): Buffer => Buffer.from(secret);
const latin1 = (secret: string): Buffer | null =>
  /^[\x00-\xff]*$/.test(secret) ? Buffer.from(secret, 'latin1') : null;
const isAscii = (secret: string): boolean => /^[\x00-\x7f]*$/.test(secret);
const pairs = (bytes: Buffer, separator: string): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(separator);
const percentOf = (bytes: Buffer): string => `%${pairs(bytes, '%')}`;
const map = (value: Buffer | null, write: (bytes: Buffer) => string): string | null =>
  value === null ? null : write(value);
const base64 = (bytes: Buffer): string => bytes.toString('base64');
const behind = (count: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from('xyz'.slice(0, count)), bytes]);
const swapped = (secret: string): Buffer => Buffer.from(secret, 'utf16le').swap16();
const wide = (secret: string): boolean => secret.length >= 8;
const entity = (write: (code: number) => string) => (secret: string) =>
  secret.replace(/[^\x00-\x7f]/gu, (character) => write(character.codePointAt(0) ?? 0));
const lost = (secret: string, rest: string): string | null =>
  isAscii(secret) || rest.replace(/[?\ufffd\s]/g, '').length < 6 ? null : rest;
const unit = (text: string, upper = false): string =>
  text
    .split('')
    .map((one) => one.charCodeAt(0).toString(16).padStart(4, '0'))
    .map((digits) => `\\u${upper ? digits.toUpperCase() : digits}`)
    .join('');

/** A form is null where the secret has none. */
export const secretForms: Readonly<Record<string, Form>> = {
  'as it is': utf8,
  'latin-1': latin1,
  'utf-8 read as latin-1': (secret) => utf8(secret).toString('latin1'),
  'utf-8 read as windows-1252': (secret) => new TextDecoder('windows-1252').decode(utf8(secret)),
  'latin-1 read as utf-8': (secret) =>
    map(latin1(secret), (bytes) => bytes.toString()) === null
      ? null
      : lost(secret, latin1(secret)?.toString() ?? ''),
  'beyond ascii lost': (secret) => lost(secret, secret.replace(/[^\x00-\x7f]/gu, '?')),
  'upper case': (secret) => (wide(secret) ? secret.toUpperCase() : null),
  'lower case': (secret) => (wide(secret) ? secret.toLowerCase() : null),
  'upper case in a url': (secret) =>
    wide(secret) ? encodeURIComponent(secret.toUpperCase()) : null,
  'url component': encodeURIComponent,
  'url component, lower digits': (secret) =>
    encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  'url, every byte': (secret) => percentOf(utf8(secret)),
  'url, every byte, upper digits': (secret) => percentOf(utf8(secret)).toUpperCase(),
  'url of latin-1': (secret) => map(latin1(secret), percentOf),
  'form field': (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  'json string': (secret) => JSON.stringify(secret).slice(1, -1),
  'json, every unit': (secret) => unit(secret),
  'json, every unit, upper digits': (secret) => unit(secret, true),
  'json in ascii': (secret) =>
    JSON.stringify(secret)
      .slice(1, -1)
      .replace(/[\u0080-\uffff]/g, (one) => unit(one)),
  'json of what was misread': (secret) =>
    JSON.stringify(utf8(secret).toString('latin1')).slice(1, -1),
  'html names': (secret) =>
    secret.replace(/[^\x00-\x7f]/g, (one) => {
      const name = htmlNames.get(one);
      return name === undefined ? one : `&${name};`;
    }),
  'html hexadecimal': entity((code) => `&#x${code.toString(16).toUpperCase()};`),
  'html decimal': entity((code) => `&#${code};`),
  'base64, whole': (secret) => base64(utf8(secret)),
  'base64, one byte on': (secret) => base64(behind(1, utf8(secret))),
  'base64, two bytes on': (secret) => base64(behind(2, utf8(secret))),
  'base64 of latin-1': (secret) => map(latin1(secret), base64),
  'base64 of utf-16': (secret) => base64(Buffer.from(secret, 'utf16le')),
  base64url: (secret) => utf8(secret).toString('base64url'),
  'base64url, one byte on': (secret) => behind(1, utf8(secret)).toString('base64url'),
  'base64 in a url': (secret) => encodeURIComponent(base64(utf8(secret))),
  'base64 twice': (secret) => base64(Buffer.from(base64(utf8(secret)))),
  'base64 twice, both in the midst': (secret) =>
    base64(behind(2, Buffer.from(base64(behind(1, utf8(secret)))))),
  'base64 of a form': (secret) =>
    base64(Buffer.from(new URLSearchParams({ a: secret }).toString())),
  'base64 of a url': (secret) => base64(Buffer.from(`/?b=${encodeURIComponent(secret)}`)),
  hex: (secret) => utf8(secret).toString('hex'),
  'hex, upper case': (secret) => utf8(secret).toString('hex').toUpperCase(),
  'hex of latin-1': (secret) => map(latin1(secret), (bytes) => bytes.toString('hex')),
  'hex with colons': (secret) => pairs(utf8(secret), ':'),
  'hex with colons, upper case': (secret) => pairs(utf8(secret), ':').toUpperCase(),
  'hex with spaces': (secret) => pairs(utf8(secret), ' '),
  'hex with spaces, upper case': (secret) => pairs(utf8(secret), ' ').toUpperCase(),
  'inspected buffer': (secret) => inspect(utf8(secret)),
  'inspected buffer that goes on': (secret) =>
    inspect(Buffer.concat([utf8(secret), Buffer.alloc(60, '.')])),
  'buffer in json': (secret) => JSON.stringify(utf8(secret)),
  'inspected bytes': (secret) => inspect(new Uint8Array(utf8(secret))),
  'inspected bytes within others': (secret) =>
    inspect({ body: { bytes: new TextEncoder().encode(secret) } }, { depth: 5 }),
  'array of bytes in indented json': (secret) => JSON.stringify([...utf8(secret)], null, 2),
  'typed array in json': (secret) => JSON.stringify({ bytes: new TextEncoder().encode(secret) }),
  'buffer in indented json': (secret) => JSON.stringify(utf8(secret), null, 2),
  'quoted-printable': (secret) => `=${pairs(utf8(secret), '=')}`.toUpperCase(),
  'byte escapes': (secret) => `\\x${pairs(utf8(secret), '\\x')}`,
  'utf-16, little endian': (secret) => Buffer.from(secret, 'utf16le'),
  'utf-16, big endian': swapped,
};
