/** A default stays on one line with its label. */
const gap = /(?<!\(default:) /;

/** Wraps a text at a width; longer words stay whole. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(gap)) {
    if (line !== '' && line.length + 1 + word.length > Math.max(width, 20)) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** A name with its meaning below it: beside long texts, names would not fit. */
export function namedText(name: string, meaning: string, width: number): string {
  const indent = ' '.repeat(6);
  const lines = wrapped(meaning, width - indent.length);
  return [`  ${name}`, ...lines.map((line) => indent + line)].join('\n');
}
