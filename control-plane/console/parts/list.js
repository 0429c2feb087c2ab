/** A table of what was read, or what is shown in its place. */
import { html } from '../dom.js';
import { Table } from './layout.js';
import { Answer } from './notices.js';

/**
 * `read` is what `useQuery` gave, `pick` takes the entries out of it, `row` draws one; `after` stands
 * below them.
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
