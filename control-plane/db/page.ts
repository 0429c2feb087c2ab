/** Pagination, in both styles of the API. */
import type { SelectQueryBuilder } from 'kysely';
import { invalidQuery } from '../errors/api-error.ts';
import type { Database } from './tables.ts';

export interface PageRequest {
  limit: number;
  /** From 1. */
  page: number;
}

export interface Page<Row> {
  rows: Row[];
  total: number;
  offset: number;
}

/** One page of an ordered query, and the total number of rows. */
export async function readPage<Tables extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Tables, Row>,
  { limit, page }: PageRequest,
): Promise<Page<Row>> {
  const offset = (page - 1) * limit;
  const { total } = await query
    .clearSelect()
    .clearOrderBy()
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await query.limit(limit).offset(offset).execute();
  return { rows, total, offset };
}

export interface CursorRequest {
  limit: number;
  nextId?: string;
}

interface CursorPage<Row> {
  rows: Row[];
  nextId: string | null;
}

/** Parses a `nextId` of an earlier page; 400 for any other text. */
export function readCursor(nextId: string, parts: number): number[] {
  const texts = nextId.split('.');
  if (texts.length === parts && texts.every((text) => /^\d{1,15}$/.test(text))) {
    return texts.map(Number);
  }
  throw invalidQuery('nextId', 'must be the nextId of an earlier page');
}

/**
 * One page by cursor. `pageAfter` builds the query for rows after a cursor, in order; `cursorOf`
 * gives the cursor of a row. New rows between two requests do not shift the second page.
 */
export async function readCursorPage<Tables extends keyof Database, Row>(
  pageAfter: (cursor: number | null) => SelectQueryBuilder<Database, Tables, Row>,
  cursorOf: (row: Row) => number,
  { limit, nextId }: CursorRequest,
): Promise<CursorPage<Row>> {
  const [cursor = null] = nextId === undefined ? [] : readCursor(nextId, 1);
  const found = await pageAfter(cursor)
    .limit(limit + 1)
    .execute();
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { rows, nextId: hasMore ? String(cursorOf(last)) : null };
}
