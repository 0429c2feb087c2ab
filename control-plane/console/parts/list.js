/** A table of query results, with loading, error and empty states. */
import { html } from '../dom.js';
import { Table } from './layout.js';
import { Answer } from './notices.js';

/**
 * `read` comes from `useQuery`, `pick` selects the entries, `row` renders one entry, `after` is
 * placed below the table.
 */
export function List({
  read,
  label,
  columns,
  empty,
  pick = (data) => data,
  row,
  after = () => null,
}) {
  return html`<${Answer}
    read=${read}
    what=${`Loading ${label.toLowerCase()}`}
    isEmpty=${(data) => pick(data).length === 0}
    empty=${empty}
  >
    ${(data) => html`
      <${Table} label=${label} columns=${columns}>${pick(data).map(row)}<//>
      ${after(data)}
    `}
  <//>`;
}

export const entriesOf = ({ entries }) => entries;
