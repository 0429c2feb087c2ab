/** Lists of ids in the fields of a resource: unknown ids are refused, and go with what they name. */
import { ownRowsAmong } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { invalidField } from '../errors/api-error.ts';
import { mapAt } from './decide/map-at.ts';

export type NamedTable = 'checks' | 'check_groups' | 'services' | 'status_pages' | 'alert_channels';
const numbered: ReadonlySet<NamedTable> = new Set(['check_groups', 'alert_channels']);

type Id = string | number;
/** What a list names, by its path in the fields, in which `*` is each item of a list. */
export type IdLists = Readonly<Record<string, NamedTable>>;

/** Throws 400 for the first id that the account does not have. */
export async function refuseUnknownIds(
  db: Db,
  accountId: string,
  lists: IdLists,
  fields: object,
): Promise<void> {
  for (const [path, table] of Object.entries(lists)) {
    const found: { field: string; ids: readonly Id[] }[] = [];
    mapAt(fields, path.split('.'), '', (ids, field) => {
      if (Array.isArray(ids)) found.push({ field, ids: ids as Id[] });
      return ids;
    });
    for (const { field, ids } of found) {
      if (ids.length === 0) continue;
      const rows = await ownRowsAmong(db, table, accountId, {
        ...{ column: 'id', isNumber: numbered.has(table), ids: ids.map(String) },
      });
      const known = new Set(rows.map(({ id }) => String(id)));
      const unknown = ids.find((id) => !known.has(String(id)));
      if (unknown !== undefined) throw invalidField(field, `has no ${unknown}`);
    }
  }
}

/** The fields without the id of an entry that is deleted; null when they do not name it. */
export function withoutId<Fields extends object>(
  lists: IdLists,
  fields: Fields,
  table: NamedTable,
  id: Id,
): Fields | null {
  let isNamed = false;
  let left: unknown = fields;
  for (const [path, of] of Object.entries(lists)) {
    if (of !== table) continue;
    left = mapAt(left, path.split('.'), '', (ids) => {
      if (!Array.isArray(ids) || !ids.includes(id)) return ids;
      isNamed = true;
      return ids.filter((each) => each !== id);
    });
  }
  return isNamed ? (left as Fields) : null;
}
