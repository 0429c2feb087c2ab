/**
 * Text messages in the GSM 03.38 alphabet. A single other character switches the message to an
 * encoding with 70 instead of 160 characters.
 */

const basic = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡' +
    'ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** Each of them counts as two. */
const extended = new Set('^{}\\[~]|€');

const substitutes: Readonly<Record<string, string>> = {
  '…': '...',
  '–': '-',
  '—': '-',
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '•': '-',
  '→': '->',
  '×': 'x',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  œ: 'oe',
  Œ: 'OE',
  '\t': ' ',
  '`': "'",
};

function inAlphabet(character: string): string {
  if (basic.has(character) || extended.has(character)) return character;
  const substitute = substitutes[character];
  if (substitute !== undefined) return substitute;
  const plain = [...character.normalize('NFKD')].filter((each) => basic.has(each)).join('');
  return plain === '' && !/\p{M}/u.test(character) ? '?' : plain;
}

function lengthOf(text: string): number {
  return [...text].reduce((sum, character) => sum + (extended.has(character) ? 2 : 1), 0);
}

/** The text in that alphabet, cut to a length; other characters become `?`. */
export function gsmText(text: string, length: number): string {
  const written = [...text]
    .map(inAlphabet)
    .join('')
    .replace(/\?{2,}/g, '?');
  if (lengthOf(written) <= length) return written;
  let cut = '';
  let used = 3;
  for (const character of written) {
    used += lengthOf(character);
    if (used > length) break;
    cut += character;
  }
  return `${cut}...`;
}
