/**
 * The forms in which a secret can appear in what a run writes, one row each. A form is everything
 * that common libraries make of a value on its way into a URL, a document, a header or a shell; many
 * of them disagree on a few characters, so there are several rows for one format.
 */
import { inspect } from 'node:util';
import { htmlNames } from './html-names.ts';

/** `buffer.INSPECT_MAX_BYTES`. */
const shownBytes = 50;
const minShownBytes = 6;

type Encode = (text: string) => readonly (string | Buffer)[];

const hexOf = (byte: number): string => byte.toString(16).padStart(2, '0');

const windows1252 = new TextDecoder('windows-1252');
const windows1252Bytes = new Map(
  Array.from({ length: 256 }, (_, byte) => [windows1252.decode(Uint8Array.of(byte)), byte]),
);

/** The bytes in ISO-8859-1 and Windows-1252, where they can hold the text and differ from UTF-8. */
function westernBytes(text: string): Buffer[] {
  if (/^[\x00-\x7f]*$/.test(text)) return [];
  const latin1 = /^[\x00-\xff]*$/.test(text) ? [Buffer.from(text, 'latin1')] : [];
  if (!/[^\x00-\x7f\xa0-\xff]/.test(text)) return latin1;
  const bytes = Array.from(text, (character) => windows1252Bytes.get(character) ?? -1);
  return bytes.includes(-1) ? latin1 : [...latin1, Buffer.from(bytes)];
}

/** The bytes in each charset of one byte or more a character; UTF-16 stands on its own. */
const bytesOf = (text: string): Buffer[] => [Buffer.from(text), ...westernBytes(text)];

/** A text in which every byte is written on its own. */
const eachByte = (bytes: Buffer, write: (byte: number) => string, separator = ''): string =>
  Array.from(bytes, write).join(separator);

/** Percent-encodes the bytes of a text, except those of safe characters; both cases of hex digits. */
function percent(text: string | Buffer, safe: RegExp): string[] {
  const bytes = Buffer.from(text);
  const encode = (upper: boolean): string => {
    let result = '';
    for (const byte of bytes) {
      const character = String.fromCharCode(byte);
      if (byte < 0x80 && safe.test(character)) result += character;
      else result += `%${upper ? hexOf(byte).toUpperCase() : hexOf(byte)}`;
    }
    return result;
  };
  return [encode(true), encode(false)];
}

const encodeOnce = (text: string, safe: RegExp): string => percent(text, safe)[0] ?? '';

const component = /[\w\-.!~*'()]/;
const strict = /[\w\-.~]/;
const wholeUrl = /[\w\-.!~*'();/?:@&=+$,#]/;
const urlPath = /[^\x00-\x20"#<>?`{}^\x7f]/;
const urlQuery = /[^\x00-\x20"#<>'\x7f]/;
const urlUser = /[^\x00-\x20"#<>?`{}/:;=@[\\\]^|\x7f]/;
const formSafe = /[\w\-.*]/;
const headerParameter = /[\w!#$&+.^`|~-]/;
const nothing = /(?!)/;

const form = (text: string): string[] =>
  [formSafe, strict, component].flatMap((safe) =>
    percent(text, safe).map((encoded) => encoded.replaceAll('%20', '+')),
  );

/** A text inside of the quotes of a JSON string. */
const json = (text: string): string => JSON.stringify(text).slice(1, -1);

const unicodeEscape = (character: string, upper: boolean): string => {
  const digits = character.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${upper ? digits.toUpperCase() : digits}`;
};

/** JSON as PHP, Python, Go, Java and others write it: they escape more than they have to. */
function jsonDialects(text: string): string[] {
  const plain = json(text);
  return [
    /(?!)/g,
    /[^\x00-\x7f]/g,
    /[<>&\u2028\u2029]/g,
    /[<>&='\u2028\u2029]|[^\x00-\x7f]/g,
    /[<>&'+`]|[^\x00-\x7e]/g,
    /[<>&'+`]|\\"|[^\x00-\x7e]/g,
  ].flatMap((escaped) =>
    [false, true].flatMap((upper) => {
      const dialect = plain.replace(escaped, (character) =>
        unicodeEscape(character.slice(-1), upper),
      );
      return [dialect, dialect.replaceAll('/', '\\/')];
    }),
  );
}

/** Each UTF-16 unit as an escape. */
const escapes = (text: string): string[] =>
  [false, true].map((upper) => text.replace(/[\s\S]/g, (unit) => unicodeEscape(unit, upper)));

const byteEscapes = (bytes: Buffer): string[] => {
  const escaped = eachByte(bytes, (byte) => `\\x${hexOf(byte)}`);
  return [escaped, escaped.replace(/x../g, (pair) => `x${pair.slice(1).toUpperCase()}`)];
};

const plainBackslashes = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');

/** As languages and shells show bytes that are not ASCII: `\xc3\xa4`, `\303\244`. */
const escapedBytes = (bytes: Buffer): string[] =>
  [(byte: number) => `x${hexOf(byte)}`, (byte: number) => byte.toString(8).padStart(3, '0')].map(
    (write) =>
      plainBackslashes(bytes.toString('latin1')).replace(
        /[^\x20-\x7e]/g,
        (character) => `\\${write(character.charCodeAt(0))}`,
      ),
  );

/** As master files show texts, RFC 1035. */
const dnsText = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/["\\]/g, '\\$&')
    .replace(
      /[^\x20-\x7e]/g,
      (character) => `\\${String(character.charCodeAt(0)).padStart(3, '0')}`,
    );

/** As languages show characters that are not ASCII: `\xe4`, `\u{e4}`, `\U0001f511`, `%u65E5`. */
function characterEscapes(text: string): string[] {
  const digits = (character: string): string => (character.codePointAt(0) ?? 0).toString(16);
  const python = (character: string): string => {
    const hex = digits(character);
    if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  };
  const ways = [
    python,
    (character: string) => `\\u{${digits(character)}}`,
    (character: string) => `\\x{${digits(character)}}`,
  ];
  const special = /[^\x20-\x7e]/gu;
  return [text, plainBackslashes(text)].flatMap((plain) =>
    ways.map((write) => plain.replace(special, write)),
  );
}

/** What the function `escape` of JavaScript makes. */
const escaped = (text: string): string =>
  text.replace(/[^\w@*+\-./]/g, (unit) => {
    const digits = unit.charCodeAt(0).toString(16).toUpperCase();
    return digits.length <= 2 ? `%${digits.padStart(2, '0')}` : `%u${digits.padStart(4, '0')}`;
  });

function entities(text: string, apostrophe: string, quote = '&quot;'): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', quote)
    .replaceAll("'", apostrophe);
}

const numericEntities = (text: string, special: RegExp): string[] => {
  const encode = (write: (code: number) => string): string =>
    text.replace(special, (character) => `&#${write(character.codePointAt(0) ?? 0)};`);
  return [
    encode(String),
    encode((code) => `x${code.toString(16)}`),
    encode((code) => `x${code.toString(16).toUpperCase()}`),
    encode((code) => `X${code.toString(16).toUpperCase()}`),
  ];
};

/** What is not ASCII by its name or its number; special characters as usual. */
function allEntities(text: string): string[] {
  const beyond = /[^\x00-\x7f]/gu;
  if (!beyond.test(text)) return [];
  const named = (plain: string): string =>
    plain.replace(beyond, (character) => {
      const name = htmlNames.get(character);
      return name === undefined ? character : `&${name};`;
    });
  return [text, ...["'", '&#39;', '&#039;', '&#x27;'].map((sign) => entities(text, sign))]
    .flatMap((plain) => [plain, named(plain)])
    .flatMap((plain) => [plain, ...numericEntities(plain, beyond)]);
}

/**
 * Base64 of bytes in the midst of others: their place among groups of three decides how they look,
 * so there are three forms, each without the characters that also depend on the neighbours.
 */
function base64(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    return padded.slice(first, last);
  });
}

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A value alone in base32. */
function base32(bytes: Buffer): string {
  const groups = eachByte(bytes, (byte) => byte.toString(2).padStart(8, '0')).match(/.{5}/g) ?? [];
  return groups.map((group) => base32Alphabet[Number.parseInt(group, 2)]).join('');
}

/** Bytes of a piece, which others do not share by chance, and how far apart two of them begin. */
const [pieceBytes, stepBytes] = [24, 6];
/** Of longer values, the lines and the whole are enough. */
const mostInPieces = 4_096;
/** What many values have in common: the scheme and host of a URL, the marks around a key, the header of a token. */
const common =
  /^[a-z][\w+.-]*:\/\/[^\s/?#]*(?:[/?#]|$)|^-----BEGIN [^-]+-----\s*|^\{"alg"[^}]*\}|^ey[\w-]+\.(?:ey[\w-]+\.)?|\s*-----END [^-]+-----\s*$/g;

/** Pieces in base64 of a value whose halves have as many bytes: half of a long secret is one, too. */
export function base64Pieces(text: string): string[] {
  const bytes = Buffer.from(text.replace(common, ''));
  if (bytes.length < 2 * pieceBytes || bytes.length > mostInPieces) return [];
  const [size, step] = [(pieceBytes / 3) * 4, (stepBytes / 3) * 4];
  return base64(bytes).flatMap((whole) => {
    const starts = Math.ceil((whole.length - size) / step) + 1;
    const pieces = Array.from({ length: starts }, (_, index) => {
      const at = Math.min(index * step, whole.length - size);
      return whole.slice(at, at + size);
    });
    return [...pieces, ...pieces.map(toUrlAlphabet)];
  });
}

/** Base64 of base64, whatever stands around either of them. */
const base64Twice = (bytes: Buffer): string[] =>
  base64(bytes)
    .flatMap((once) => [once, toUrlAlphabet(once)])
    .flatMap((once) => base64(Buffer.from(once)));

const toUrlAlphabet = (text: string): string => text.replaceAll('+', '-').replaceAll('/', '_');

/** What `util.inspect` shows of a Buffer of more bytes than it shows, and more than a few of a secret. */
function cutInspection(bytes: Buffer): string[] {
  const digits = eachByte(bytes, hexOf, ' ');
  return Array.from(
    { length: Math.min(bytes.length, shownBytes) - minShownBytes + 1 },
    (_, index) => `${digits.slice(0, 3 * (index + minShownBytes) - 1)} ...`,
  );
}

/**
 * Bytes as numbers on lines of their own: an array in indented JSON, and what `util.inspect` shows of one,
 * in columns and not more than its first hundred. Each as a value of its own or within one or two others.
 */
function numbersOnLines(bytes: Buffer): string[] {
  const [, shown = ''] = /\[\n([^.\]]*\d),?\n/.exec(inspect(new Uint8Array(bytes))) ?? [];
  const ways = [shown.trim().replaceAll('\n  ', '\n'), eachByte(bytes, String, ',\n')];
  return ways.flatMap((way) =>
    ['  ', '    ', '      '].map((indent) => way.replaceAll('\n', `\n${indent}`)),
  );
}

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

const quotedPrintable = (bytes: Buffer): string[] => {
  const encode = (upper: boolean): string =>
    [...bytes]
      .map((byte) => {
        if (byte === 0x20 || (byte > 0x20 && byte < 0x7f && byte !== 0x3d))
          return String.fromCharCode(byte);
        return `=${upper ? hexOf(byte).toUpperCase() : hexOf(byte)}`;
      })
      .join('');
  const body = encode(true);
  const every = eachByte(bytes, (byte) => `=${hexOf(byte)}`);
  return [
    ...[body, encode(false), body.replaceAll(' ', '_'), body.replaceAll('\r\n', '\n')],
    ...[every, every.toUpperCase()],
  ];
};

const backslashed = (text: string, special: RegExp): string => text.replace(special, '\\$&');

/** In the order in which documentation shows them; every name is unique. */
export const encodings: Readonly<Record<string, Encode>> = {
  raw: (text) => [text],
  'latin-1 or windows-1252': westernBytes,
  'utf-16le': (text) => [Buffer.from(text, 'utf16le')],
  'utf-16be': (text) => [utf16be(text)],
  'url component': (text) => percent(text, component),
  'url strict': (text) => percent(text, strict),
  'url whole': (text) => percent(text, wholeUrl),
  'url path': (text) => percent(text, urlPath),
  'url query': (text) => percent(text, urlQuery),
  'url user information': (text) => percent(text, urlUser),
  'url every byte': (text) => percent(text, nothing),
  'url of latin-1': (text) =>
    westernBytes(text).flatMap((bytes) => [
      ...percent(bytes, strict),
      ...percent(bytes, component),
      ...percent(bytes, nothing),
      ...percent(bytes, formSafe).map((encoded) => encoded.replaceAll('%20', '+')),
    ]),
  'url in a header': (text) => percent(text, headerParameter),
  'url of escape': (text) => [escaped(text)],
  'url twice': (text) =>
    [component, strict, formSafe].flatMap((safe) =>
      [...percent(text, safe), ...form(text)].flatMap((once) => percent(once, safe)),
    ),
  form,
  json: (text) => [json(text), ...jsonDialects(text)],
  'json in json': (text) => [json(json(text)), ...jsonDialects(text).map(json)],
  'json in json in json': (text) => [json(json(json(text)))],
  'json in url': (text) => [component, strict].flatMap((safe) => percent(json(text), safe)),
  'json in form': (text) => form(json(text)),
  'json in html': (text) => [
    entities(json(text), "'"),
    entities(json(text), '&#39;'),
    entities(json(text), '&#x27;'),
    entities(json(text), '&#39;', '&#34;'),
  ],
  'unicode escapes': escapes,
  'unicode escapes in json': (text) => escapes(text).map(json),
  'byte escapes': (text) =>
    bytesOf(text).flatMap((bytes) => [...byteEscapes(bytes), ...escapedBytes(bytes)]),
  'character escapes': characterEscapes,
  'dns text': (text) => bytesOf(text).map(dnsText),
  'html named': (text) => [
    entities(text, "'"),
    entities(text, '&#39;'),
    entities(text, '&#039;'),
    entities(text, '&#x27;'),
    entities(text, '&#39;', '&#34;'),
    entities(text, "'", '"'),
  ],
  'html in json': (text) => [json(entities(text, '&#39;')), json(entities(text, '&#x27;'))],
  'html beyond ascii': allEntities,
  'html numeric, special characters': (text) => [
    ...numericEntities(text, /[^\w\s\-.]/gu),
    ...numericEntities(text, /[&<>"']|[^\x00-\x7f]/gu),
    ...numericEntities(text, /[&<>"'`/=]/gu),
  ],
  'html numeric, every character': (text) => numericEntities(text, /[\s\S]/gu),
  xml: (text) => [
    entities(text, '&apos;'),
    entities(text, '&apos;').replace(/[\r\n\t]/g, (white) => `&#${white.charCodeAt(0)};`),
    entities(text, '&apos;').replace(
      /[\r\n\t]/g,
      (white) => `&#x${white.charCodeAt(0).toString(16).toUpperCase()};`,
    ),
  ],
  base64: (text) => bytesOf(text).flatMap(base64),
  base64url: (text) => bytesOf(text).flatMap(base64).map(toUrlAlphabet),
  base32: (text) => bytesOf(text).map(base32),
  'base64 in url': (text) =>
    bytesOf(text)
      .flatMap(base64)
      .flatMap((encoded) => percent(encoded, strict)),
  'base64 in json': (text) =>
    bytesOf(text)
      .flatMap(base64)
      .flatMap((encoded) => [
        encoded.replaceAll('/', '\\/'),
        encoded.replaceAll('+', '\\u002B').replaceAll('/', '\\/'),
        encoded.replaceAll('+', '\\u002B'),
        encoded.replaceAll('+', '\\u002b'),
      ]),
  'base64 twice': (text) => bytesOf(text).flatMap(base64Twice),
  'base64 of json': (text) => {
    const encoded = base64(Buffer.from(json(text)));
    return [...encoded, ...encoded.map(toUrlAlphabet)];
  },
  'base64 of url': (text) =>
    [...new Set([encodeOnce(text, component), encodeOnce(text, strict), form(text)[0] ?? ''])]
      .filter((encoded) => encoded !== text)
      .flatMap((encoded) => base64(Buffer.from(encoded))),
  'base64 of utf-16': (text) => [Buffer.from(text, 'utf16le'), utf16be(text)].flatMap(base64),
  hex: (text) =>
    [...bytesOf(text), Buffer.from(text, 'utf16le'), utf16be(text)].flatMap((bytes) => {
      const digits = bytes.toString('hex');
      return [digits, digits.toUpperCase()];
    }),
  'hex with separators': (text) =>
    bytesOf(text)
      .flatMap((bytes) => [
        ...[' ', ':', '-', ',', ', '].map((separator) => eachByte(bytes, hexOf, separator)),
        ...[' ', ',', ', '].map((separator) =>
          eachByte(bytes, (byte) => `0x${hexOf(byte)}`, separator),
        ),
      ])
      .flatMap((digits) => [digits, digits.toUpperCase().replaceAll('X', 'x')]),
  'inspected buffer, cut': (text) => bytesOf(text).flatMap(cutInspection),
  'bytes as numbers': (text) =>
    bytesOf(text).flatMap((bytes) =>
      [',', ', ', ' '].map((separator) => eachByte(bytes, String, separator)),
    ),
  // What JSON makes of a typed array.
  'bytes as numbers by index': (text) =>
    bytesOf(text).map((bytes) => Array.from(bytes, (byte, at) => `"${at}":${byte}`).join(',')),
  'bytes as numbers on lines': (text) => bytesOf(text).flatMap(numbersOnLines),
  'quoted-printable': (text) => bytesOf(text).flatMap(quotedPrintable),
  'shell single quotes': (text) => [
    text.replaceAll("'", `'\\''`),
    text.replaceAll("'", `'"'"'`),
    text.replaceAll("'", "''"),
  ],
  'shell double quotes': (text) => [
    backslashed(text, /[\\"$`]/g),
    backslashed(text, /[\\"$`!]/g),
    backslashed(text, /"/g),
  ],
  'shell backslashes': (text) => [
    backslashed(text, /[^\w@%+=:,./-]/g),
    backslashed(text, /[^\w@%+=:,./\n-]/gu),
  ],
  'doubled quotes': (text) => [text.replaceAll('"', '""'), text.replaceAll("'", "''")],
  backslashes: (text) => [
    backslashed(text, /[\\'"]/g),
    backslashed(text, /[\\']/g),
    backslashed(text, /[\\"]/g).replaceAll('\n', '\\n'),
    backslashed(text, /[\\'"]/g)
      .replaceAll('\0', '\\0')
      .replaceAll('\n', '\\n')
      .replaceAll('\r', '\\r')
      .replaceAll('\x1a', '\\Z'),
    json(text).replaceAll('\\"', '"').replaceAll("'", "\\'"),
    json(text).replaceAll('\\"', '"'),
  ],
};
