/** A table of query results, with loading, error and empty states. */
import type { ComponentChildren } from 'preact';
import type { Read } from '../contract.ts';
import { Table, type Columns } from './layout.tsx';
import { Answer } from './notices.tsx';

/**
 * `pick` selects the entries of an answer, `row` renders one entry, `after` is placed below the
 * table. Called as a function, so that the types of `read` reach them.
 */
export function List<Data, Entry>({
  read,
  label,
  columns,
  empty,
  pick,
  row,
  after = () => null,
}: {
  read: Read<Data>;
  label: string;
  columns: Columns;
  empty?: ComponentChildren;
  pick: (data: Data) => Entry[];
  row: (entry: Entry, index: number) => ComponentChildren;
  after?: (data: Data) => ComponentChildren;
}) {
  return Answer({
    read,
    what: `Loading ${label.toLowerCase()}`,
    isEmpty: (data) => pick(data).length === 0,
    empty,
    children: (data) => (
      <>
        <Table label={label} columns={columns}>
          {pick(data).map(row)}
        </Table>
        {after(data)}
      </>
    ),
  });
}
