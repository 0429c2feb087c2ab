/**
 * Reads rows of a damaged SQLite database, record by record. Tables are walked from their roots.
 * Where that fails, unreached pages are searched for rows of the missing shape. A row is accepted
 * only when its header, its length and its column types are consistent.
 */
import { viewOf, type DatabaseImage } from './image.ts';

export type SqliteValue = number | bigint | string | Uint8Array | null;

export interface ColumnShape {
  name: string;
  /** Declared type in lower case; `any` accepts everything. */
  type: string;
  isNullable: boolean;
  /** `integer primary key`: stored as NULL, its value is the rowid. */
  isRowNumber: boolean;
}

/** The on-disk shape of a table's rows: columns in storage order. */
export interface TableShape {
  name: string;
  isWithoutRowid: boolean;
  columns: readonly ColumnShape[];
  /** Older rows lack columns that were added later; this is the minimum. */
  minColumns: number;
}

export interface SalvagedRow {
  table: string;
  /** Null in tables without row numbers. */
  rowid: number | bigint | null;
  /** As many as the row has; later columns may be missing. */
  values: SqliteValue[];
}

/** A row that is only partly readable. */
export interface LostRow {
  table: string | null;
  rowid: number | bigint | null;
  /** Its readable bytes as text. */
  text: string;
}

export interface SalvageReport {
  /** Unreadable pages of tables. */
  damagedPages: number;
  /** The same by table; other pages belong to no known table. */
  damagedByTable: Map<string, number>;
  /** The first 10,000 at most. */
  lost: LostRow[];
  lostCount: number;
}

const tableLeaf = 0x0d;
const tableInterior = 0x05;
const indexLeaf = 0x0a;
const indexInterior = 0x02;
/** Enough of a lost row to recognise it. */
const maxTextLength = 16_384;
/** Lost rows are counted completely; only this many are described. */
const maxLost = 10_000;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function varint(bytes: Uint8Array, offset: number): { value: bigint; length: number } | null {
  let value = 0n;
  for (let index = 0; index < 9; index += 1) {
    const byte = bytes[offset + index];
    if (byte === undefined) return null;
    if (index === 8) return { value: BigInt.asIntN(64, (value << 8n) | BigInt(byte)), length: 9 };
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return { value, length: index + 1 };
  }
  return null;
}

const plainNumber = (value: bigint): number | bigint =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : value;

const widths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function widthOf(serial: number): number | null {
  if (serial < 10) return widths[serial] ?? null;
  return serial < 12 ? null : Math.floor((serial - 12) / 2);
}

function integerAt(bytes: Uint8Array, offset: number, width: number): number | bigint {
  let value = 0n;
  for (let index = 0; index < width; index += 1) {
    value = (value << 8n) | BigInt(bytes[offset + index] ?? 0);
  }
  return plainNumber(BigInt.asIntN(width * 8, value));
}

function valueOf(serial: number, bytes: Uint8Array, offset: number, width: number): SqliteValue {
  if (serial === 0) return null;
  if (serial === 8) return 0;
  if (serial === 9) return 1;
  if (serial === 7) return viewOf(bytes).getFloat64(offset);
  if (serial < 7) return integerAt(bytes, offset, width);
  const content = bytes.subarray(offset, offset + width);
  return serial % 2 === 1 ? decoder.decode(content) : content.slice();
}

/** The values of a record, or null when its parts are inconsistent. */
function decodeRecord(payload: Uint8Array): SqliteValue[] | null {
  const header = varint(payload, 0);
  if (header === null || header.value > BigInt(payload.length)) return null;
  const headerBytes = Number(header.value);
  const serials: number[] = [];
  let at = header.length;
  while (at < headerBytes) {
    const serial = varint(payload, at);
    if (serial === null || serial.value < 0n || serial.value > 0x7fff_ffffn) return null;
    serials.push(Number(serial.value));
    at += serial.length;
  }
  if (at !== headerBytes) return null;
  let offset = headerBytes;
  const places: [serial: number, offset: number, width: number][] = [];
  for (const serial of serials) {
    const width = widthOf(serial);
    if (width === null) return null;
    places.push([serial, offset, width]);
    offset += width;
  }
  if (offset !== payload.length) return null;
  return places.map(([serial, start, width]) => valueOf(serial, payload, start, width));
}

function fits({ type, isNullable, isRowNumber }: ColumnShape, value: SqliteValue): boolean {
  if (value === null) return isNullable || isRowNumber;
  if (isRowNumber) return false;
  if (type === 'any') return true;
  if (type === 'text') return typeof value === 'string';
  if (type === 'blob') return value instanceof Uint8Array;
  if (type === 'real') return typeof value === 'number';
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
}

function hasShape(values: readonly SqliteValue[], { columns, minColumns }: TableShape): boolean {
  if (values.length < minColumns || values.length > columns.length) return false;
  return values.every((value, index) => {
    const column = columns[index];
    return column !== undefined && fits(column, value);
  });
}

interface Cell {
  rowid: number | bigint | null;
  payload: Uint8Array | null;
  /** The readable part of an incomplete record. */
  rest: Uint8Array;
}

interface Page {
  type: number;
  cells: number[];
  bytes: Uint8Array;
  rightmost: number;
}

class Salvage {
  readonly #image: DatabaseImage;
  readonly #usable: number;
  readonly visited = new Set<number>();
  readonly report: SalvageReport = {
    damagedPages: 0,
    damagedByTable: new Map(),
    lost: [],
    lostCount: 0,
  };

  constructor(image: DatabaseImage) {
    this.#image = image;
    const reserved = image.page(1)?.[20] ?? 0;
    this.#usable = image.pageSize - (reserved <= 64 ? reserved : 0);
  }

  get pageCount(): number {
    return this.#image.pageCount;
  }

  read(number: number): Page | null {
    const bytes = this.#image.page(number);
    if (bytes === null) return null;
    const start = number === 1 ? 100 : 0;
    const type = bytes[start] ?? 0;
    const isInterior = type === tableInterior || type === indexInterior;
    if (!isInterior && type !== tableLeaf && type !== indexLeaf) return null;
    const view = viewOf(bytes);
    const count = view.getUint16(start + 3);
    const first = start + (isInterior ? 12 : 8);
    if (first + 2 * count > this.#usable) return null;
    const cells: number[] = [];
    for (let index = 0; index < count; index += 1) cells.push(view.getUint16(first + 2 * index));
    return { type, cells, bytes, rightmost: isInterior ? view.getUint32(start + 8) : 0 };
  }

  damage(table: string | undefined): void {
    const { damagedByTable } = this.report;
    this.report.damagedPages += 1;
    if (table === undefined) return;
    damagedByTable.set(table, (damagedByTable.get(table) ?? 0) + 1);
  }

  lose(row: LostRow): void {
    this.report.lostCount += 1;
    if (this.report.lost.length < maxLost) this.report.lost.push(row);
  }

  #payloadAt(bytes: Uint8Array, at: number, size: number, isIndex: boolean): Uint8Array | null {
    const usable = this.#usable;
    const most = isIndex ? Math.floor(((usable - 12) * 64) / 255) - 23 : usable - 35;
    if (size <= most) return at + size > usable ? null : bytes.subarray(at, at + size);
    if (size > this.#image.pageCount * usable) return null;
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const fitting = least + ((size - least) % (usable - 4));
    const local = fitting <= most ? fitting : least;
    if (at + local + 4 > usable) return null;
    const payload = new Uint8Array(size);
    payload.set(bytes.subarray(at, at + local));
    let filled = local;
    let next = viewOf(bytes).getUint32(at + local);
    while (filled < size) {
      const page = this.#image.page(next);
      if (page === null) return null;
      const part = page.subarray(4, Math.min(usable, 4 + size - filled));
      payload.set(part, filled);
      filled += part.length;
      next = viewOf(page).getUint32(0);
    }
    return payload;
  }

  cell(page: Page, at: number): Cell | null {
    const { type, bytes } = page;
    const start = type === indexInterior ? at + 4 : at;
    const size = varint(bytes, start);
    if (size === null || at < 8) return null;
    let offset = start + size.length;
    let rowid: number | bigint | null = null;
    if (type === tableLeaf) {
      const number = varint(bytes, offset);
      if (number === null) return null;
      rowid = plainNumber(number.value);
      offset += number.length;
    }
    const isPlausible = size.value > 0n && size.value < 0x7fff_ffffn;
    const rest = bytes.subarray(offset, Math.min(this.#usable, offset + maxTextLength));
    return {
      rowid,
      payload: isPlausible
        ? this.#payloadAt(bytes, offset, Number(size.value), type !== tableLeaf)
        : null,
      rest,
    };
  }

  /** Rows of one page. Invalid cells are lost; they belong to the table when it is known. */
  *rows(page: Page, shape: TableShape): Generator<SalvagedRow> {
    for (const at of page.cells) {
      const cell = this.cell(page, at);
      const values = cell?.payload === null || cell === null ? null : decodeRecord(cell.payload);
      if (cell !== null && values !== null && hasShape(values, shape)) {
        yield { table: shape.name, rowid: cell.rowid, values };
      } else {
        const left = cell?.payload ?? cell?.rest ?? new Uint8Array();
        this.lose({
          table: shape.name,
          rowid: cell?.rowid ?? null,
          text: decoder.decode(left.subarray(0, maxTextLength)),
        });
      }
    }
  }

  /** Number of cells of a page with this shape. */
  rowsOf(page: Page, shape: TableShape): number {
    const isIndex = page.type === indexLeaf || page.type === indexInterior;
    if (isIndex !== shape.isWithoutRowid) return 0;
    let fitting = 0;
    for (const at of page.cells) {
      const cell = this.cell(page, at);
      const values = cell?.payload == null ? null : decodeRecord(cell.payload);
      if (values !== null && hasShape(values, shape)) fitting += 1;
    }
    return fitting;
  }

  /** The pages of a tree. With a shape, pages without such rows are left to other tables. */
  *pages(root: number, isIndex: boolean, shape: TableShape | null): Generator<Page> {
    const leaf = isIndex ? indexLeaf : tableLeaf;
    const interior = isIndex ? indexInterior : tableInterior;
    const ahead = [root];
    for (let number = ahead.pop(); number !== undefined; number = ahead.pop()) {
      if (this.visited.has(number)) continue;
      const page = this.read(number);
      const isPart =
        page !== null &&
        (page.type === interior ||
          (page.type === leaf &&
            (number === root ||
              shape === null ||
              page.cells.length === 0 ||
              this.rowsOf(page, shape) > 0)));
      if (!isPart) {
        this.damage(shape?.name);
        continue;
      }
      this.visited.add(number);
      yield page;
      if (page.type !== interior) continue;
      const view = viewOf(page.bytes);
      const children = page.cells.map((at) =>
        at + 4 <= page.bytes.length ? view.getUint32(at) : 0,
      );
      ahead.push(page.rightmost, ...children.reverse());
    }
  }

  *walk(root: number, shape: TableShape): Generator<SalvagedRow> {
    for (const page of this.pages(root, shape.isWithoutRowid, shape)) {
      if (page.type !== tableInterior) yield* this.rows(page, shape);
    }
  }

  /** Free pages; empty when their list is unreadable. */
  freePages(): Set<number> {
    const free = new Set<number>();
    const header = this.#image.page(1);
    if (header === null) return free;
    let trunk = viewOf(header).getUint32(32);
    while (trunk !== 0 && !free.has(trunk)) {
      const page = this.#image.page(trunk);
      if (page === null) break;
      free.add(trunk);
      const view = viewOf(page);
      const count = view.getUint32(4);
      for (let index = 0; index < count && 12 + 4 * index <= page.length; index += 1) {
        free.add(view.getUint32(8 + 4 * index));
      }
      trunk = view.getUint32(0);
    }
    return free;
  }
}

const schemaShape: TableShape = {
  name: 'sqlite_schema',
  isWithoutRowid: false,
  minColumns: 5,
  columns: ['type', 'name', 'tbl_name', 'rootpage', 'sql'].map((name) => ({
    name,
    type: name === 'rootpage' ? 'integer' : 'text',
    isNullable: true,
    isRowNumber: false,
  })),
};

/**
 * Gives every readable row of the tables, those reached from their roots first. A row may come
 * twice; then the first one counts. Returns the damaged and lost parts.
 */
export function* salvageRows(
  image: DatabaseImage,
  shapes: readonly TableShape[],
): Generator<SalvagedRow, SalvageReport> {
  const salvage = new Salvage(image);
  const { report, visited } = salvage;
  const roots = new Map<string, number>();
  const indexes: number[] = [];
  for (const { values } of salvage.walk(1, schemaShape)) {
    const [type, name, , root] = values;
    if (typeof name !== 'string' || typeof root !== 'number') continue;
    if (type === 'table') roots.set(name, root);
    else if (type === 'index') indexes.push(root);
  }
  for (const shape of shapes) {
    const root = roots.get(shape.name);
    if (root === undefined) salvage.damage(shape.name);
    else yield* salvage.walk(root, shape);
  }
  // After a damaged frame of the log, pages of different ages are mixed, and some may be
  // unreachable.
  if (report.damagedPages === 0 && (image.log?.damagedFrames ?? 0) === 0) return report;
  // A page of an index, or of nothing, contains no lost row.
  const { damagedPages } = report;
  for (const root of indexes) for (const _page of salvage.pages(root, true, null)) void _page;
  report.damagedPages = damagedPages;
  const free = salvage.freePages();
  for (let number = 1; number <= salvage.pageCount; number += 1) {
    // After a damaged frame, the list of free pages may be outdated.
    const isFree = free.has(number) && image.writtenAt(number) <= image.writtenAt(1);
    if (visited.has(number) || isFree) continue;
    const page = salvage.read(number);
    if (page === null || page.type === tableInterior) continue;
    let [best, most]: [TableShape | null, number] = [null, 0];
    for (const shape of shapes) {
      const fitting = salvage.rowsOf(page, shape);
      if (fitting > most) [best, most] = [shape, fitting];
    }
    if (best !== null) yield* salvage.rows(page, best);
  }
  return report;
}
