/** What can be the key of a location: one rule for `start`, for `doctor`, and for a file that is read again. */
const forms: readonly (readonly [RegExp, string])[] = [
  [/^$/, 'is empty'],
  [/[\0\ufffd]/, 'is not in UTF-8: some editors save UTF-16'],
  [/^(["'`]).*\1$/s, 'has quotes around it, which are taken as part of it'],
  [/^(export\s+)?\w*KEY\s*[=:]/i, 'has its name before it: the value alone is the key'],
  [/^\$\{?\w+\}?/, 'is the name of a variable that nobody has replaced'],
  [/^<.*>$|^(changeme|your[-_ ].*)$/is, 'is a placeholder'],
  [/[\r\n]/, 'has more than one line'],
  [/\s/, 'has white space in it'],
  [/^cu_/, 'is a key of the API (cu_…), and an agent needs that of a location (pl_…)'],
  [/[…*]/, 'is a masked key; the whole key is shown only once'],
];

/** `pl_` and what 32 bytes are in hexadecimal: `makeKey` of the control plane makes no others. */
const wholeKey = /^pl_[0-9a-f]{64}$/;
const wholeLength = 67;

/** Why no control plane takes a text as the key of a location, without the text; null where one may. */
export function keyProblem(text: string): string | null {
  if (wholeKey.test(text)) return null;
  const form = forms.find(([pattern]) => pattern.test(text))?.[1];
  if (form !== undefined) return form;
  if (Buffer.from(text, 'base64').toString().startsWith('pl_')) return 'is in base64: decode it';
  if (!text.startsWith('pl_')) return 'is no key of a location: those begin with pl_';
  return text.length === wholeLength
    ? 'has characters that no key has: after pl_ come digits and the letters a to f'
    : `has ${text.length} characters, and a key has ${wholeLength}: copy it whole, and nothing else`;
}

/** `pl_…4f2a`: enough to tell keys apart, as the control plane shows them. */
export function maskedKey(key: string): string {
  const prefix = /^[a-z]{2}_/.exec(key)?.[0] ?? '';
  return key.length < 16 ? `${prefix}…` : `${prefix}…${key.slice(-4)}`;
}
