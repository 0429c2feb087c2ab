/** Damage for JSON bodies, drawn from a seed: values that programs stumble over, put where others belong. */

export type Random = () => number;

export function pick<T>(random: Random, list: readonly T[]): T {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('there is nothing to pick from');
  return chosen;
}

const deep = (depth: number): unknown => (depth === 0 ? 'deep' : [deep(depth - 1)]);

const values: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => '',
  () => 'x',
  () => '__proto__',
  () => 'constructor',
  () => 'toString',
  () => '\u0000',
  () => '\ud800',
  () => '\u{1f4a5}'.repeat(2_000),
  () => 'x'.repeat(20_000),
  () => "'; drop table checks; --",
  () => -1,
  () => 0,
  () => -0,
  () => 0.5,
  () => 1e300,
  () => 2 ** 31,
  () => 2 ** 53,
  () => 2 ** 63,
  () => -(2 ** 63),
  () => Date.UTC(2100, 0),
  () => 253_402_300_800_000,
  () => '00000000-0000-0000-0000-000000000000',
  () => '11111111-1111-4111-8111-111111111111',
  () => 'FINAL',
  () => 'BROWSER',
  () => 'us-east-1',
  () => [],
  () => ({}),
  () => [[], {}, null],
  () => deep(500),
  () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  () => Array.from({ length: 300 }, (_none, index) => ({ name: `f${index}` })),
];

/** A value that hardly any field expects. */
export function hostileValue(random: Random): unknown {
  return pick(random, values)();
}

/** A copy of an object in which one to three fields, somewhere in it, are damaged, gone or new. */
export function damaged(random: Random, given: object): Record<string, unknown> {
  const copy = structuredClone(given) as Record<string, unknown>;
  const damages = 1 + Math.floor(random() * 3);
  for (let each = 0; each < damages; each += 1) damageOnce(random, copy);
  return copy;
}

function damageOnce(random: Random, within: Record<string, unknown>): void {
  const names = Object.keys(within);
  if (names.length === 0 || random() < 0.05) {
    within[`further${Math.floor(random() * 10)}`] = hostileValue(random);
    return;
  }
  const name = pick(random, names);
  const inner = within[name];
  if (typeof inner === 'object' && inner !== null && random() < 0.6) {
    damageOnce(random, inner as Record<string, unknown>);
  } else if (random() < 0.1) Reflect.deleteProperty(within, name);
  else within[name] = hostileValue(random);
}
