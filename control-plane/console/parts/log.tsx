/** Log lines of a run with their levels. */
import { timeOfDay } from '../format.ts';

interface LogLine {
  time: number;
  level: string;
  msg: string;
}

const tones: Partial<Record<string, string>> = {
  ERROR: 'bad',
  WARN: 'warn',
  WARNING: 'warn',
  DEBUG: 'quiet',
};
const shownAtMost = 2000;

export function Log({ label, lines }: { label: string; lines?: LogLine[] }) {
  if (!lines || lines.length === 0) return null;
  const shown = lines.slice(0, shownAtMost);
  return (
    <div class="code">
      <div class="code-head">
        <span>{label}</span>
      </div>
      <div class="scroll short log-scroll" tabindex={0} role="region" aria-label={label}>
        <ol class="log">
          {shown.map(({ time, level, msg }, index) => (
            <li key={index}>
              <span class="muted">{timeOfDay(time)}</span>
              <span class={tones[level.toUpperCase()] ?? 'muted'}>{level}</span>
              <span>{msg}</span>
            </li>
          ))}
        </ol>
      </div>
      {shown.length < lines.length && (
        <p class="muted">
          The first {shown.length} of {lines.length} lines.
        </p>
      )}
    </div>
  );
}
