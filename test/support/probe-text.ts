/** Metrics in the text format as a map from `name{labels}` to values. */
export function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, series = '', value = ''] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    if (series === '') throw new Error(`not a sample: ${line}`);
    samples.set(series, Number(value));
  }
  return samples;
}
