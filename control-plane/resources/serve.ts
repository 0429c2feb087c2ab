/** The handlers of a plain resource. What it does besides has handlers of its own. */
import type { Owned } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { type CursorRequest, type PageRequest, readCursorPage, readPage } from '../db/page.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { CallContext } from '../http/call-context.ts';
import type { Key, Resource } from './resource.ts';

/** Tables with a `seq`. */
type Numbered = {
  [T in Owned]: Database[T] extends { seq: unknown } ? T : never;
}[Owned];
type Context = Pick<CallContext<ApiPrincipal>, 'principal' | 'setTotal'>;
type Named<Param extends string> = { params: Readonly<Record<Param, Key>> };

/** The handler of a list by pages: of all its rows, or of those that a filter leaves. */
export const listPages =
  <Table extends Owned, Fields extends object, Wire>(
    { rowsOf, asRow, present }: Resource<Table, Fields, Wire>,
    filtered?: ReturnType<typeof rowsOf>,
  ) =>
  async ({ query }: { query: PageRequest }, { principal, setTotal }: Context): Promise<Wire[]> => {
    const { rows, total, offset } = await readPage(filtered ?? rowsOf(principal.accountId), query);
    setTotal(total, offset, rows.length);
    return present(rows.map(asRow), principal);
  };

/** The handler of a list without pages. */
export const listAll =
  <Table extends Owned, Fields extends object, Wire>(resource: Resource<Table, Fields, Wire>) =>
  async (_input: unknown, { principal }: Context): Promise<Wire[]> => {
    const rows = await resource.rowsOf(principal.accountId).execute();
    return resource.present(rows.map(resource.asRow), principal);
  };

/** The handler of a list by cursor, in the order of `seq`. */
export const listAfter =
  <Table extends Numbered, Fields extends object, Wire>(resource: Resource<Table, Fields, Wire>) =>
  async (
    { query }: { query: CursorRequest & { paginated?: boolean } },
    { principal }: Context,
  ): Promise<{ length: number; entries: Wire[]; nextId: string | null }> => {
    const all = resource.rowsOf(principal.accountId);
    const { rows, nextId } =
      query.paginated === false
        ? { rows: await all.execute(), nextId: null }
        : await readCursorPage(
            (cursor) =>
              cursor === null ? all : all.where('seq', resource.isNewestFirst ? '<' : '>', cursor),
            ({ seq }) => seq,
            query,
          );
    const entries = await resource.present(rows.map(resource.asRow), principal);
    return { length: entries.length, entries, nextId };
  };

/** The handlers of one entry, which the parameter `param` of their path names. */
export function entryHandlers<
  Name extends string,
  Param extends string,
  Table extends Owned,
  Fields extends object,
  Wire,
>(name: Name, param: Param, resource: Resource<Table, Fields, Wire>) {
  const { create, get, update, remove, presentOne } = resource;
  const made = async ({ body }: { body: Fields }, { principal }: Context) =>
    presentOne(await create(principal.accountId, body), principal);
  const read = async ({ params }: Named<Param>, { principal }: Context) =>
    presentOne(await get(principal.accountId, params[param]), principal);
  const changed = async (
    { params, body }: Named<Param> & { body: Partial<Fields> },
    { principal }: Context,
  ) => presentOne(await update(principal.accountId, params[param], body), principal);
  const deleted = async ({ params }: Named<Param>, { principal }: Context) => {
    await remove(principal.accountId, params[param]);
    return undefined;
  };
  // Computed names have no literal types.
  return {
    [`create${name}`]: made,
    [`get${name}`]: read,
    [`update${name}`]: changed,
    [`delete${name}`]: deleted,
  } as unknown as Readonly<
    Record<`create${Name}`, typeof made> &
      Record<`get${Name}`, typeof read> &
      Record<`update${Name}`, typeof changed> &
      Record<`delete${Name}`, typeof deleted>
  >;
}
