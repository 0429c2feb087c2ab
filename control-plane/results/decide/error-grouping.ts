/**
 * Normalises error messages for grouping: everything that varies from run to run is replaced. Spec:
 * Error group (`cleanedErrorMessage`, `errorHash`). The rules are applied in order, and again until
 * nothing changes, so that the result is stable. No pattern backtracks over more than its match, so
 * the time is linear. Numbers of up to three digits without a unit stay, because a 404 is not a
 * 500.
 */
interface Rule {
  what: string;
  pattern: RegExp;
  becomes: string | ((match: string) => string);
}

const maxReadLength = 16_384;
const maxCleanedLength = 1_000;
const maxQuotedLength = 60;
const maxPasses = 5;

const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const timeOfDay = String.raw`\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?`;
const zone = String.raw`(?: ?(?:Z|GMT|UTC)\b(?:[+-]\d{4})?| ?[+-]\d{2}:?\d{2}\b)?`;

function digitsOf(text: string): number {
  return text.replace(/\D/g, '').length;
}

/** Replaces mixed letters and digits with many digits; names have one or two digits. */
function generatedId(token: string): string {
  return digitsOf(token) >= 4 && /[a-z]/i.test(token) ? '<id>' : token;
}

/** Hexadecimal groups with colons are an IPv6 address when there are eight, or `::`. */
function ipv6Address(text: string): string {
  const isWhole = text.includes('::') || text.split(':').length === 8;
  return isWhole && /[\da-f]/i.test(text) ? '<ip>' : text;
}

/** A long quotation comes from the target and varies. */
function quotation(text: string): string {
  const quote = text.charAt(0);
  return text.length > maxQuotedLength + 2 ? `${quote}<text>${quote}` : text;
}

/** Scheme, host and path of a URL; the rest holds session data. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, '').replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1');
}

const rules: readonly Rule[] = [
  {
    what: 'colours and other escapes of terminals',
    pattern: /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g,
    becomes: '',
  },
  {
    what: 'control characters and white space',
    pattern: /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu,
    becomes: ' ',
  },
  {
    what: 'how often a browser was asked, in the call logs of Playwright',
    pattern: /(?<![\w.,])\d{1,6} × (?=[a-z])/g,
    becomes: '- ',
  },
  {
    what: 'queries, fragments and credentials of URLs',
    pattern: /\b(?:https?|wss?):\/\/[^\s"'`<>()]+/gi,
    becomes: withoutQuery,
  },
  {
    what: 'folders of temporary files',
    pattern: /(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/(?:[^\s/:"'`()<>]+\/)*/g,
    becomes: '<tmp>/',
  },
  {
    what: 'local parts of e-mail addresses',
    pattern: /(?<![\w.+-])[\w.+-]{1,64}@(?=[a-z\d])/gi,
    becomes: '<user>@',
  },
  {
    what: 'UUIDs',
    pattern: /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi,
    becomes: '<uuid>',
  },
  {
    what: 'dates, with or without a time',
    pattern: new RegExp(String.raw`\b\d{4}-\d{2}-\d{2}(?:[T ]${timeOfDay}${zone})?`, 'g'),
    becomes: '<date>',
  },
  {
    what: 'dates of mail and HTTP',
    pattern: new RegExp(
      String.raw`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:\d{1,2} ${month}|${month} \d{1,2}),? \d{4}(?: ${timeOfDay}${zone})?`,
      'g',
    ),
    becomes: '<date>',
  },
  { what: 'dates with slashes', pattern: /\b\d{1,4}\/\d{1,2}\/\d{2,4}\b/g, becomes: '<date>' },
  {
    what: 'places in source files',
    pattern: /(\.[cm]?[jt]sx?):\d+(?::\d+)?/g,
    becomes: (match) => match.replace(/:.*$/, ':<line>'),
  },
  {
    what: 'IPv6 addresses',
    pattern:
      /\[(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}\]|(?<![\w:])(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?![\w:])/gi,
    becomes: ipv6Address,
  },
  {
    what: 'IPv4 addresses',
    pattern: /(?<![\d.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g,
    becomes: '<ip>',
  },
  {
    what: 'times of day',
    pattern: new RegExp(String.raw`(?<![\d:])\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?![\d:])`, 'g'),
    becomes: '<time>',
  },
  { what: 'ports', pattern: /(?<=[\w>\]]):\d{2,5}(?![\d:.]*\d)/g, becomes: ':<port>' },
  { what: 'hexadecimal numbers', pattern: /\b0x[\da-f]+\b/gi, becomes: '<hex>' },
  {
    what: 'hashes and hexadecimal ids',
    pattern: /\b(?=[a-f]*\d)[\da-f]{8,}\b/gi,
    becomes: '<hex>',
  },
  { what: 'generated ids', pattern: /(?<![\w<-])[\w-]{12,}(?![\w>-])/g, becomes: generatedId },
  {
    what: 'durations',
    pattern:
      /(?<![\w.,])-?\d{1,15}(?:[.,]\d{1,9}){0,4} ?(?:ns|µs|us|ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?)\b/gi,
    becomes: '<duration>',
  },
  {
    what: 'sizes',
    pattern: /(?<![\w.,])\d{1,15}(?:[.,]\d{1,9}){0,4} ?(?:bytes?|[kmgt]i?b|b)\b/gi,
    becomes: '<size>',
  },
  {
    what: 'shares',
    pattern: /(?<![\w.,])-?\d{1,15}(?:[.,]\d{1,9}){0,4} ?%/g,
    becomes: '<percent>',
  },
  {
    what: 'fractions',
    pattern: /(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.])/gi,
    becomes: '<number>',
  },
  { what: 'long numbers', pattern: /\d{4,}/g, becomes: '<number>' },
  { what: 'long quotations', pattern: /"[^"]*"|`[^`]*`/g, becomes: quotation },
];

function applyRules(text: string): string {
  let cleaned = text;
  for (const { pattern, becomes } of rules) {
    cleaned =
      typeof becomes === 'string'
        ? cleaned.replace(pattern, becomes)
        : cleaned.replace(pattern, (match) => becomes(match));
  }
  return cleaned.trim();
}

/** Cuts to a length without splitting a character or a placeholder. */
function shorten(text: string): string {
  if (text.length <= maxCleanedLength) return text;
  return text
    .slice(0, maxCleanedLength)
    .replace(/[\ud800-\udbff]$/, '')
    .replace(/<[a-z]*$/, '')
    .trim();
}

/**
 * A normalised message of at most 1,000 characters: `Timeout 30000ms exceeded at 10.0.0.7:5432`
 * gives `Timeout <duration> exceeded at <ip>:<port>`. Empty when nothing is left.
 */
export function cleanErrorMessage(raw: string): string {
  let cleaned = raw.slice(0, maxReadLength).toWellFormed();
  for (let pass = 0; pass < maxPasses; pass += 1) {
    const next = shorten(applyRules(cleaned));
    if (next === cleaned) break;
    cleaned = next;
  }
  return cleaned;
}

/** The key of a group. */
export function errorHash(cleaned: string, sha256Hex: (text: string) => string): string {
  return sha256Hex(cleaned);
}
