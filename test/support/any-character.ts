import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 2_048 };

/** Any character. The units `binary` of fast-check are as many, and making them takes half a second. */
export const anyCharacter = fc
  .nat({ max: 0x10ffff - surrogates.count })
  .map((nth) => String.fromCodePoint(nth < surrogates.first ? nth : nth + surrogates.count));
