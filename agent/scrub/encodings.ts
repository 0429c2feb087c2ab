/**
 * The forms in which a secret can appear in what a run writes, one row each. A form is everything
 * that common libraries make of a value on its way into a URL, a document, a header or a shell; many
 * of them disagree on a few characters, so there are several rows for one format.
 */

type Encode = (text: string) => readonly (string | Buffer)[];

const hexOf = (byte: number): string => byte.toString(16).padStart(2, '0');

/** Percent-encodes the bytes of a text, except those of safe characters; both cases of hex digits. */
function percent(text: string, safe: RegExp, encoding: BufferEncoding = 'utf8'): string[] {
  const bytes = Buffer.from(text, encoding);
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

const component = /[\w\-.!~*'()]/;
const strict = /[\w\-.~]/;
const wholeUrl = /[\w\-.!~*'();/?:@&=+$,#]/;
const urlPath = /[^\x00-\x20"#<>?`{}^\x7f]/;
const urlQuery = /[^\x00-\x20"#<>'\x7f]/;
const urlUser = /[^\x00-\x20"#<>?`{}/:;=@[\\\]^|\x7f]/;
const formSafe = /[\w\-.*]/;
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
  ].flatMap((escaped) =>
    [false, true].flatMap((upper) => {
      const dialect = plain.replace(escaped, (character) => unicodeEscape(character, upper));
      return [dialect, dialect.replaceAll('/', '\\/')];
    }),
  );
}

/** Each UTF-16 unit as an escape. */
const escapes = (text: string): string[] =>
  [false, true].map((upper) => text.replace(/[\s\S]/g, (unit) => unicodeEscape(unit, upper)));

const byteEscapes = (text: string): string[] => {
  const escaped = [...Buffer.from(text)].map((byte) => `\\x${hexOf(byte)}`).join('');
  return [escaped, escaped.replace(/x../g, (pair) => `x${pair.slice(1).toUpperCase()}`)];
};

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

const toUrlAlphabet = (text: string): string => text.replaceAll('+', '-').replaceAll('/', '_');

/** A value alone in base64, broken into lines as PEM and MIME do. */
function wrappedBase64(text: string): string[] {
  const whole = Buffer.from(text).toString('base64');
  return [64, 76].flatMap((width) => {
    if (whole.length <= width) return [];
    const lines = whole.match(new RegExp(`.{1,${width}}`, 'g')) ?? [];
    return ['\n', '\r\n', '\\n', '\\r\\n'].map((end) => lines.join(end).replace(/=+$/, ''));
  });
}

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

/** Only texts that Latin-1 can hold have a form there. */
const latin1 = (text: string): string | null => (/^[\x00-\xff]*$/.test(text) ? text : null);

const quotedPrintable = (text: string): string[] => {
  const encode = (upper: boolean): string =>
    [...Buffer.from(text)]
      .map((byte) => {
        if (byte === 0x20 || (byte > 0x20 && byte < 0x7f && byte !== 0x3d))
          return String.fromCharCode(byte);
        return `=${upper ? hexOf(byte).toUpperCase() : hexOf(byte)}`;
      })
      .join('');
  const body = encode(true);
  return [body, encode(false), body.replaceAll(' ', '_'), body.replaceAll('\r\n', '\n')];
};

const backslashed = (text: string, special: RegExp): string => text.replace(special, '\\$&');

/** In the order in which documentation shows them; every name is unique. */
export const encodings: Readonly<Record<string, Encode>> = {
  raw: (text) => [text],
  'latin-1': (text) => (latin1(text) === null ? [] : [Buffer.from(text, 'latin1')]),
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
    latin1(text) === null
      ? []
      : [...percent(text, strict, 'latin1'), ...percent(text, component, 'latin1')],
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
  'json in html': (text) => [entities(json(text), '&#39;'), entities(json(text), '&#x27;')],
  'unicode escapes': escapes,
  'unicode escapes in json': (text) => escapes(text).map(json),
  'byte escapes': byteEscapes,
  'html named': (text) => [
    entities(text, "'"),
    entities(text, '&#39;'),
    entities(text, '&#039;'),
    entities(text, '&#x27;'),
    entities(text, '&#39;', '&#34;'),
    entities(text, "'", '"'),
  ],
  'html in json': (text) => [json(entities(text, '&#39;')), json(entities(text, '&#x27;'))],
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
  base64: (text) => base64(Buffer.from(text)),
  base64url: (text) => base64(Buffer.from(text)).map(toUrlAlphabet),
  'base64 in url': (text) =>
    base64(Buffer.from(text)).flatMap((encoded) => percent(encoded, strict)),
  'base64 in lines': wrappedBase64,
  'base64 of json': (text) => {
    const encoded = base64(Buffer.from(json(text)));
    return [...encoded, ...encoded.map(toUrlAlphabet)];
  },
  'base64 of utf-16': (text) => base64(Buffer.from(text, 'utf16le')),
  hex: (text) => {
    const digits = Buffer.from(text).toString('hex');
    return [digits, digits.toUpperCase()];
  },
  'quoted-printable': quotedPrintable,
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
