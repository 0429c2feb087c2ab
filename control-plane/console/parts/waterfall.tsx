/** Phases of a request in sequence, and requests in parallel. */
import { duration } from '../format.ts';
import { phases as knownPhases } from '../facts.ts';

/** In the order they happen. */
function present(phases: Record<string, number>) {
  return knownPhases.filter(
    ({ name }) => (phases[name] ?? 0) > 0 || (name !== 'wait' && phases[name] === 0),
  );
}

/** Separates the TLS handshake from the first byte, where it is part of it. */
function withHandshake(phases: Record<string, number>) {
  const tls = phases['tls'] ?? 0;
  return present(phases).flatMap(({ name, label }) => {
    const ms = phases[name] ?? 0;
    if (name !== 'firstByte' || tls <= 0) return [{ label, ms }];
    return [
      { label: 'TLS handshake', ms: tls },
      { label, ms: Math.max(0, ms - tls) },
    ];
  });
}

export function Phases({ phases }: { phases: Record<string, number> }) {
  const parts = withHandshake(phases);
  const total = phases['total'] ?? parts.reduce((sum, { ms }) => sum + ms, 0);
  if (parts.length === 0) return null;
  let before = 0;
  return (
    <dl class="phases">
      {parts.map(({ label, ms }, index) => {
        const left = total > 0 ? (before / total) * 100 : 0;
        const wide = total > 0 ? Math.max(0.4, (ms / total) * 100) : 0;
        before += ms;
        return (
          <>
            <dt>{label}</dt>
            <dd>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect
                  style={{ fill: `var(--line-${(index % 8) + 1})` }}
                  x={left}
                  width={wide}
                  height="10"
                />
              </svg>
            </dd>
            <dd class="right">{duration(ms)}</dd>
          </>
        );
      })}
      <dt>
        <strong>Total</strong>
      </dt>
      <dd />
      <dd class="right">
        <strong>{duration(total)}</strong>
      </dd>
    </dl>
  );
}

interface SpanProps {
  from: number;
  ms: number;
  start: number;
  end: number;
  line?: number;
}

/** A time range within a total, as a bar. */
export function Span({ from, ms, start, end, line = 1 }: SpanProps) {
  const whole = Math.max(1, end - start);
  const left = Math.max(0, ((from - start) / whole) * 100);
  const wide = Math.max(0.6, Math.min(100 - left, (ms / whole) * 100));
  return (
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect style={{ fill: `var(--line-${line})` }} x={left} width={wide} height="10" />
    </svg>
  );
}
