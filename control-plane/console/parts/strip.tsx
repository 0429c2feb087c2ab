/** Availability over time: a row for each location, a cell for each interval. */
import type { Lines } from '../analytics.ts';
import { percent, shortTime } from '../format.ts';

const toneOf = (available: number | null) =>
  available === null ? 'none' : available === 100 ? 'good' : available > 0 ? 'warn' : 'bad';

/** An interval between two runs, in which none was due, is as the one before it. */
function filled(cells: Lines[1]) {
  let before: number | null = null;
  return cells.map((cell) => (before = cell === undefined ? before : cell));
}

function describe(cells: (number | null)[], name: string) {
  const count = (tone: string) => cells.filter((cell) => toneOf(cell) === tone).length;
  return `${name}: ${cells.length} intervals, ${count('bad')} down, ${count('warn')} partly down, ${count('none')} without data`;
}

export function Strips({ names, data: [instants, ...rows] }: { names: string[]; data: Lines }) {
  return (
    <figure class="chart">
      <figcaption>
        <strong>Availability</strong>
      </figcaption>
      {rows.map(filled).map((cells, row) => (
        <div class="strip" key={names[row]}>
          <span title={names[row]}>{names[row]}</span>
          <div role="img" aria-label={describe(cells, names[row] ?? '')}>
            {cells.map((cell, index) => (
              <i
                key={instants[index]}
                class={toneOf(cell)}
                title={`${shortTime((instants[index] ?? 0) * 1000)}: ${cell === null ? 'no data' : `${percent(cell)} available`}`}
              />
            ))}
          </div>
        </div>
      ))}
    </figure>
  );
}
