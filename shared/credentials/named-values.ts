/** Values that are credentials by the name beside them: `"api_key": "…"`, `DB_PASSWORD=…`, `&token=…`. */

const words = ['secret', 'token', 'passw', 'pwd', 'apikey', 'api_key', 'api-key', 'credential'];
const keyWords = ['private_key', 'private-key', 'privatekey', 'access_key', 'access-key'];
const moreWords = ['accesskey', 'auth', 'signing_key', 'encryption_key'];
const capital = (word: string): string =>
  word.replace(/(^|[_-])[a-z]/g, (letters) => letters.toUpperCase());
const camel = (word: string): string => word.replace(/(key)$/, 'Key').replace(/[_-]/, '');

/** In the spellings that are in use; `ToKeN` is not one. */
export const nameAnchors: readonly string[] = [
  ...new Set(
    [...words, ...keyWords, ...moreWords].flatMap((word) => [
      word,
      capital(word),
      word.toUpperCase(),
      camel(word),
      capital(camel(word)),
    ]),
  ),
];

/** From the word in a name, over what is left of the name, to the end of the value. */
export const namedValue =
  /(secret|token|passw|pwd|api[_-]?key|credential|private[_-]?key|access[_-]?key|auth|signing_key|encryption_key)([\w-]{0,40})(?:\\?["'`]){0,2}\s{0,4}(?:=>|:=|[:=]|%3D)\s{0,4}(?:\\?["'`]){0,2}([^\s"'`\\,;&<>(){}[\]*|]{6,4096})/iy;

/** Endings of names whose values describe a credential without being one. */
const about =
  /(?:id|ids|name|names|type|types|url|uri|endpoint|host|path|count|length|size|limit|expiry|expires|expires_?in|expires_?at|expiration|ttl|age|at|date|time|status|state|mode|method|version|scheme|algorithm|provider|hint|label|field|header|prefix|hash|digest|sha1|sha256|fingerprint|policy|error|message|required|enabled|valid|present|store|storage|manager|file|arn|ref|or|ors|ority|enticated|entication|orization_endpoint)$/i;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const digest = /^(?:sha(?:1|256|384|512)[-:])|^(?:[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64})$/i;
const reference =
  /^(?:https?:|wss?:|file:|data:|arn:|urn:|projects\/|\/|\.{1,2}\/|\$|%\w+%|process\.|env\.|this\.|req\.|res\.|page\.|vault:|secret:|ref\+)/i;

/** Bits per character: what a text tells beyond how often its characters stand in it. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

function classes(text: string): number {
  return [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].filter((one) => one.test(text)).length;
}

const credentialWord =
  /(?:secret|token|passw|pwd|api[_-]?key|credential|private[_-]?key|access[_-]?key|auth|signing_key|encryption_key)/gi;

/** Whether the value of a field of that name may be a credential. */
export function hasCredentialWord(name: string): boolean {
  return name.search(credentialWord) >= 0;
}

/** The same for a value that stands in a field of that name. */
export function isNamedCredential(name: string, value: string): boolean {
  for (const { index } of name.matchAll(credentialWord)) {
    namedValue.lastIndex = 0;
    const [, word = '', rest = '', found] = namedValue.exec(`${name.slice(index)}=${value}`) ?? [];
    if (found === value && isCredential(word, rest, value)) return true;
  }
  return false;
}

/** True when a value of that name is a credential rather than a word, a hash or a number. */
export function isCredential(word: string, rest: string, value: string): boolean {
  if (about.test(rest) || uuid.test(value) || digest.test(value) || reference.test(value))
    return false;
  if (/^(?:\d+(?:\.\d+)?|true|false|null|undefined)$/i.test(value)) return false;
  if (/^(?:passw|pwd)/i.test(word))
    return classes(value) >= 2 && !/^[A-Za-z]+[.!?:…]*$/.test(value);
  // Identifiers and calls in code: `token=getToken`, `auth.user.id`.
  if (/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/.test(value) && !/\d.*\d/.test(value))
    return false;
  if (/^[a-z]+(?:[-_/.][a-z]+)*\d{0,2}$/i.test(value)) return false;
  return value.length >= 12 && /\d/.test(value) && classes(value) >= 2 && entropy(value) >= 3;
}
