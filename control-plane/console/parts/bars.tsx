/** The latest runs of a check as bars: the height shows the duration, the colour the outcome. */
import type { CheckOverview } from '../contract.ts';
import { memo } from '../memo.ts';
import { count, duration } from '../format.ts';
import { outcomes } from '../state.ts';

const width = 4;
const gap = 1;
const height = 22;
const least = 3;

function describe({ outcomes: letters, responseTimes }: CheckOverview['recentRuns']) {
  if (letters === '') return 'no runs yet';
  const parts = Object.entries(outcomes).flatMap(([letter, { word }]) => {
    const amount = [...letters].filter((one) => one === letter).length;
    return amount === 0 ? [] : [`${amount} ${word.toLowerCase()}`];
  });
  return `Last ${count(letters.length, 'run')}: ${parts.join(', ')}; newest ${duration(responseTimes.at(-1))}`;
}

/** One path per outcome, so that thousands of bars are a few elements. */
export const Bars = memo(
  ({ runs, slots = 24 }: { runs: CheckOverview['recentRuns']; slots?: number }) => {
    const letters = [...runs.outcomes].slice(-slots);
    const times = runs.responseTimes.slice(-slots);
    const most = Math.max(1, ...times);
    const paths: Record<string, string> = {};
    for (const [index, letter] of letters.entries()) {
      const share = letter === 'E' ? 0.5 : Math.sqrt((times[index] ?? 0) / most);
      const tall = Math.round(least + share * (height - least));
      const left = (slots - letters.length + index) * (width + gap);
      paths[letter] = `${paths[letter] ?? ''}M${left} ${height - tall}h${width}v${tall}h-${width}z`;
    }
    const whole = slots * (width + gap) - gap;
    return (
      <svg
        class="bars"
        viewBox={`0 0 ${whole} ${height}`}
        width={whole}
        height={height}
        role="img"
        aria-label={describe(runs)}
      >
        <title>{describe(runs)}</title>
        <path class="base" d={`M0 ${height - 1}h${whole}v1h-${whole}z`} />
        {Object.entries(outcomes).map(
          ([letter, { tone }]) =>
            letter in paths && (
              <path key={letter} style={{ color: `var(--${tone}-bar)` }} d={paths[letter]} />
            ),
        )}
      </svg>
    );
  },
);
