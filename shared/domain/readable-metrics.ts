/** What stays readable of an encrypted result: the numbers that analytics read, where they read them. */
import type { CheckType } from '../contract/checks/index.ts';
import { isFields } from '../fields.ts';
import { analyticsOf } from './metrics.ts';

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Copies what is at a path, if it is a number; `*` stands for every item of a list. */
function copied(value: unknown, place: readonly string[], into: unknown): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return isNumber(value) ? value : into;
  if (key === '*') {
    if (!Array.isArray(value)) return into;
    const before: unknown[] = Array.isArray(into) ? into : [];
    return value.map((item, index) => copied(item, rest, before[index]) ?? {});
  }
  if (!isFields(value)) return into;
  const before = isFields(into) ? into : {};
  const part = copied(value[key], rest, before[key]);
  return part === undefined ? into : { ...before, [key]: part };
}

const minStatus = 100;
const maxStatus = 599;

interface Readable {
  places: readonly (readonly string[])[];
  hasStatus: boolean;
}

const known = new Map<string, Readable>();

function readableOf(type: CheckType): Readable {
  let readable = known.get(type);
  if (readable === undefined) {
    const { metrics, figures, groupBy } = analyticsOf[type];
    const places = [...metrics, ...figures.map(({ base }) => base)].flatMap(({ place }) =>
      place === null ? [] : [place],
    );
    readable = { places, hasStatus: groupBy.includes('statusCode') };
    known.set(type, readable);
  }
  return readable;
}

/** The metrics of a type in its details, and the HTTP status where analytics group by it. */
export function readableMetrics(type: string, details: unknown): Record<string, unknown> {
  if (!Object.hasOwn(analyticsOf, type)) return {};
  const { places, hasStatus } = readableOf(type as CheckType);
  let readable: unknown = {};
  for (const place of places) readable = copied(details, place, readable);
  if (hasStatus && isFields(details) && isFields(details['response'])) {
    const { status } = details['response'];
    if (Number.isInteger(status) && Number(status) >= minStatus && Number(status) <= maxStatus) {
      readable = copied(details, ['response', 'status'], readable);
    }
  }
  return readable as Record<string, unknown>;
}
