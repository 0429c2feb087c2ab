/** A table of query results, with loading, error and empty states. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Read } from '../contract.ts' */
/** @import { Columns } from './layout.js' */
import { html } from '../dom.js';
import { Table } from './layout.js';
import { Answer } from './notices.js';

/**
 * `pick` selects the entries of an answer, `row` renders one entry, `after` is placed below the
 * table. Called as a function, so that the types of `read` reach them.
 * @template Data, Entry
 * @param {{
 *   read: Read<Data>,
 *   label: string,
 *   columns: Columns,
 *   empty?: ComponentChildren,
 *   pick: (data: Data) => Entry[],
 *   row: (entry: Entry, index: number) => ComponentChildren,
 *   after?: (data: Data) => ComponentChildren,
 * }} props
 */
export function List({ read, label, columns, empty, pick, row, after = () => null }) {
  return Answer({
    read,
    what: `Loading ${label.toLowerCase()}`,
    isEmpty: (data) => pick(data).length === 0,
    empty,
    children: (data) => html`
      <${Table} label=${label} columns=${columns}>${pick(data).map(row)}<//>
      ${after(data)}
    `,
  });
}

/**
 * @template Entry
 * @param {Entry[]} entries
 */
export const allOf = (entries) => entries;

/**
 * @template Entry
 * @param {{ entries: Entry[] }} page
 */
export const entriesOf = ({ entries }) => entries;
