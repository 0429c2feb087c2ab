/**
 * The part of a long list that is near the screen. Rows stand in blocks; a block that is away is
 * replaced by its height, as measured or, before it was ever shown, as that of the others.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export const blockRows = 10;
/** Above and below the screen. */
const marginPx = 400;
const firstGuessPx = 37;
const settledMs = 150;

interface Range {
  first: number;
  last: number;
  above: number;
  below: number;
}

/** Heights of blocks, by their number. */
class Heights {
  #known: Map<number, number> = new Map();

  measure(table: HTMLTableElement) {
    for (const body of table.querySelectorAll('tbody[data-block]')) {
      if (!(body instanceof HTMLElement)) continue;
      if (body.childElementCount === blockRows) {
        this.#known.set(Number(body.dataset.block), body.offsetHeight);
      }
    }
  }

  get usual() {
    if (this.#known.size === 0) return blockRows * firstGuessPx;
    return [...this.#known.values()].reduce((sum, height) => sum + height, 0) / this.#known.size;
  }

  /** Pixels from the top of the first row. */
  above(row: number) {
    const block = Math.floor(row / blockRows);
    const { usual } = this;
    let top = ((row % blockRows) / blockRows) * (this.#known.get(block) ?? usual);
    for (let one = 0; one < block; one += 1) top += this.#known.get(one) ?? usual;
    return top;
  }

  /** The blocks between two heights, and what is above and below them. */
  between(rows: number, from: number, to: number): Range {
    const { usual } = this;
    const blocks = Math.max(1, Math.ceil(rows / blockRows));
    const range = { first: blocks - 1, last: 0, above: 0, below: 0 };
    for (let block = 0, top = 0; block < blocks; block += 1) {
      const part = Math.min(1, (rows - block * blockRows) / blockRows);
      const height = (this.#known.get(block) ?? usual) * part;
      if (top + height >= from && block <= range.first)
        Object.assign(range, { first: block, above: top });
      if (top <= to) range.last = Math.max(block, range.first);
      else range.below += height;
      top += height;
    }
    return range;
  }
}

/**
 * The range of the rows of a table to render, as the page scrolls. `reveal` scrolls a row to the middle.
 */
export function useWindow(rows: number) {
  const table = useRef<HTMLTableElement | null>(null);
  const heights = useRef(new Heights());
  const [range, setRange] = useState<Range>({ first: 0, last: 1, above: 0, below: 0 });
  const place = useRef(() => {});
  place.current = () => {
    if (table.current === null) return;
    const top = table.current.getBoundingClientRect().top;
    const next = heights.current.between(rows, -top - marginPx, innerHeight - top + marginPx);
    setRange((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
  };
  useLayoutEffect(() => {
    if (table.current === null) return;
    heights.current.measure(table.current);
    place.current();
  });
  useEffect(() => {
    const onMove = () => place.current();
    addEventListener('scroll', onMove, { passive: true });
    addEventListener('resize', onMove);
    return () => {
      removeEventListener('scroll', onMove);
      removeEventListener('resize', onMove);
    };
  }, []);
  const reveal = (row: number) => {
    const top = table.current?.getBoundingClientRect().top ?? 0;
    scrollBy(0, top + heights.current.above(row) - innerHeight / 2);
  };
  const last = Math.min(range.last, Math.max(0, Math.ceil(rows / blockRows) - 1));
  return { table, reveal, range: { ...range, first: Math.min(range.first, last), last } };
}

/** The value once it has stayed the same for a moment; the first one at once. */
export function useSettled<Value extends string>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settledMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
