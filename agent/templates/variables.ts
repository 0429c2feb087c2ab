/** Values of template names. */

export interface TemplateValues {
  /** Variables of the run, at the time of rendering. */
  readonly variables: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (size: number) => Buffer;
}

const maxRandomNumber = 10_000;

function uuid(random: TemplateValues['random']): string {
  const bytes = random(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [
    [0, 8] as const,
    [8, 12] as const,
    [12, 16] as const,
    [16, 20] as const,
    [20, 32] as const,
  ]
    .map(([from, to]) => hex.slice(from, to))
    .join('-');
}

/**
 * The value of a name; `$UUID` and `$RANDOM_NUMBER` are new at each place. Undefined for an unknown
 * name.
 */
export function valueOf(name: string, values: TemplateValues): string | undefined {
  if (name === '$UUID') return uuid(values.random);
  if (name === '$RANDOM_NUMBER') {
    return String(values.random(6).readUIntBE(0, 6) % (maxRandomNumber + 1));
  }
  return values.variables.get(name);
}
