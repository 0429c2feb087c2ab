/** Why the agent reads an answer otherwise than Chromium does, by the names of the answers. */
export const reasons: readonly [answers: RegExp, reason: string][] = [
  [
    /^start: (no code|nothing behind|negative|tab and code 500)/,
    'Chromium takes 200 for a status that it cannot read; a verdict needs one that the server sent',
  ],
  [
    /^start: code of (two|four) digits/,
    'RFC 9112 has codes of three digits; no rule says what another one means',
  ],
  [/^start: (HTTPS|ICY)/, 'this is not HTTP, and a verdict on it would be a guess'],
  [
    /^coding: HTTP\/1\.0/,
    'Chromium shows the framing of the chunks as content; curl and other clients decode it',
  ],
  [
    /^cut: close at \d+ of the head/,
    'over TLS Chromium refuses it too; what is missing may be what an assertion asks for',
  ],
  [
    /^large: header of 200000/,
    'a head has 128 KB at most; Chromium reads 256 KB, curl 100 KB a line',
  ],
  [
    /^interim: 101/,
    'Chromium takes it for an interim answer; nobody had asked for another protocol',
  ],
  [/^redirect: brackets/, 'the URL Standard leaves `|` as it is in a path; Chromium encodes it'],
];
