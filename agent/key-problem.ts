/** What can be the key of a location: one rule for `start`, for `doctor`, and for a file that is read again. */
export interface KeyProblem {
  /** It is a key, of another kind or masked; otherwise it is none. */
  isOtherKey: boolean;
  what: string;
}

const forms: readonly (readonly [RegExp, string])[] = [
  [/[\0\ufffd]/, 'is not in UTF-8: some editors save UTF-16'],
  [/^(["'`]).*\1$/s, 'has quotes around it, which are taken as part of it'],
  [/^(export\s+)?\w*KEY\s*[=:]/i, 'has its name before it: the value alone is the key'],
  [/^\$\{?\w+\}?/, 'is the name of a variable that nobody has replaced'],
  [/^<.*>$|^(changeme|your[-_ ].*)$/is, 'is a placeholder'],
  [/[\r\n]/, 'has more than one line'],
  [/\s/, 'has white space in it'],
];

/** Why no control plane takes a text as the key of a location, without the text; null where one may. */
export function keyProblem(text: string): KeyProblem | null {
  const form = forms.find(([pattern]) => pattern.test(text))?.[1];
  if (form !== undefined) return { isOtherKey: false, what: form };
  if (text.startsWith('cu_')) {
    const what = 'is a key of the API (cu_…), and an agent needs that of a location (pl_…)';
    return { isOtherKey: true, what };
  }
  if (/[…*]/.test(text)) {
    return { isOtherKey: true, what: 'is a masked key; the whole key is shown only once' };
  }
  if (Buffer.from(text, 'base64').toString().startsWith('pl_')) {
    return { isOtherKey: false, what: 'is in base64: decode it' };
  }
  if (/^pl_[\w-]{5,}$/.test(text)) return null;
  return { isOtherKey: false, what: 'is no key of a location: those begin with pl_' };
}

/** `pl_…4f2a`: enough to tell keys apart, as the control plane shows them. */
export function maskedKey(key: string): string {
  const prefix = /^[a-z]{2}_/.exec(key)?.[0] ?? '';
  return key.length < 16 ? `${prefix}…` : `${prefix}…${key.slice(-4)}`;
}
