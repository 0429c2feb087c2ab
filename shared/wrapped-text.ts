/** A default is looked for by its label: the two stay together. */
const gap = /(?<!\(default:) /;

/** A text in lines of at most so many characters; words that are longer stay whole. */
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

/** A name and, below it, what it means: names beside long texts would leave these no room. */
export function namedText(name: string, meaning: string, width: number): string {
  const indent = ' '.repeat(6);
  const lines = wrapped(meaning, width - indent.length);
  return [`  ${name}`, ...lines.map((line) => indent + line)].join('\n');
}
