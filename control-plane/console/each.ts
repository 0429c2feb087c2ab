/** One act on each of several entries, a few at once. */
import { patiently } from './api.ts';
import { wordsOf } from './parts/notices.tsx';
import { toProblem } from './problem.ts';

export interface Refused<Item> {
  item: Item;
  why: string;
}

const atOnce = 4;

/** Gives those that were refused; those that were not begun before the signal are left out. */
export async function forEach<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<unknown>,
  { onDone, signal }: { onDone?: () => void; signal?: AbortSignal } = {},
): Promise<Refused<Item>[]> {
  const left = [...items];
  const refused: Refused<Item>[] = [];
  const work = async () => {
    for (let item = left.shift(); item !== undefined && !signal?.aborted; item = left.shift()) {
      const one = item;
      try {
        await patiently(() => act(one), signal);
      } catch (error) {
        refused.push({ item: one, why: wordsOf(toProblem(error)) });
      }
      onDone?.();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return refused;
}
