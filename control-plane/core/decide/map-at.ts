import { isFields } from '@monitor/shared/fields.ts';

/** A value with `map` applied to what is at a path, in which `*` is each item of a list. */
export function mapAt(
  value: unknown,
  [step, ...rest]: readonly string[],
  path: string,
  map: (found: unknown, field: string) => unknown,
): unknown {
  if (step === undefined) return map(value, path);
  if (step === '*') {
    if (!Array.isArray(value)) return value;
    return value.map((item, at) => mapAt(item, rest, `${path}.${at}`, map));
  }
  if (!isFields(value) || !(step in value)) return value;
  const inner = mapAt(value[step], rest, path === '' ? step : `${path}.${step}`, map);
  return { ...value, [step]: inner };
}
