/** What of two representations of a resource is kept in the audit log. */
import { isFields } from '@monitor/shared/fields.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Of longer values the length and the beginning are kept: scripts, lists of hundreds of entries. */
const maxFieldLength = 4_096;
const keptLength = 1_000;
const maxLength = 32_768;
/** They change with every change. */
const ignored: ReadonlySet<string> = new Set(['updated_at', 'created_at', 'updatedAt']);

export interface Changes {
  before: Fields | null;
  after: Fields | null;
}

function bounded(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= maxFieldLength) return value;
  return { length: text.length, start: text.slice(0, keptLength) };
}

/** The fields with bounded values, and in all no more than fits. */
function fit(fields: Fields): Fields {
  const kept: Record<string, unknown> = {};
  let length = 0;
  for (const [name, value] of Object.entries(fields)) {
    const short = bounded(value);
    length += name.length + (JSON.stringify(short) ?? 'null').length;
    if (length > maxLength) break;
    kept[name] = short;
  }
  return kept;
}

const isEqual = (left: unknown, right: unknown): boolean =>
  JSON.stringify(left) === JSON.stringify(right);

function pick(from: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (name in from ? [[name, from[name]]] : [])));
}

/** Values that are hidden from now on are not kept as they were before either. */
function withoutHidden(before: unknown, after: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(after)) {
    const later = new Map(after.filter(isFields).map((entry) => [entry['key'], entry]));
    return before.map((entry) =>
      isFields(entry) ? withoutHidden(entry, later.get(entry['key'])) : entry,
    );
  }
  if (!isFields(before) || !isFields(after)) return before;
  const isHidden = after['secret'] === true || after['locked'] === true;
  return Object.fromEntries(
    Object.entries(before).map(([name, value]) => [
      name,
      isHidden && name === 'value' ? null : withoutHidden(value, after[name]),
    ]),
  );
}

/** The fields that differ; everything of what was made or deleted. */
export function changesOf(given: Fields | null, after: Fields | null): Changes {
  const before = withoutHidden(given, after) as Fields | null;
  if (before === null || after === null) {
    return { before: before && fit(before), after: after && fit(after) };
  }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !ignored.has(name) && !isEqual(before[name], after[name]),
  );
  if (names.length === 0) return { before: null, after: null };
  return { before: fit(pick(before, names)), after: fit(pick(after, names)) };
}
