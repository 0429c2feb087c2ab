/** Incidents, maintenance, deployments and changes on the time axis of charts. */
import type { CheckEvent } from '@monitor/shared/contract/check-event.ts';
import type Plot from 'uplot';
import { weekMs } from '../analytics.ts';
import { shortTime } from '../format.ts';
import { link } from '../router.ts';
import { Picture, type Glyph } from './icons.tsx';
import { Section } from './layout.tsx';
import { Time } from './time.tsx';

/** The part of the time that a chart shows, in seconds, and where, in pixels. */
export interface Shown {
  min: number;
  max: number;
  left: number;
  width: number;
  /** Beyond the last value of a chart that is not zoomed: what happened since stands at its edge. */
  end: number;
}

const kinds: Record<CheckEvent['kind'], { word: string; glyph: Glyph }> = {
  INCIDENT: { word: 'Incident', glyph: 'incidents' },
  MAINTENANCE: { word: 'Maintenance', glyph: 'pause' },
  DEPLOYMENT: { word: 'Deployment', glyph: 'deploy' },
  CHANGE: { word: 'Edited', glyph: 'edit' },
  IMPORT: { word: 'Imported', glyph: 'deploy' },
};
const markPx = 26;

const isRange = ({ kind }: CheckEvent) => !['DEPLOYMENT', 'CHANGE'].includes(kind);
const from = ({ startedAt }: CheckEvent) => Date.parse(startedAt) / 1000;
/** In seconds. */
export function until(event: CheckEvent) {
  if (event.endedAt !== null) return Date.parse(event.endedAt) / 1000;
  return isRange(event) ? Infinity : from(event);
}
const rowOf = (event: CheckEvent) => `event-${event.id}-${from(event)}`;
const toRow = (event: CheckEvent) => document.getElementById(rowOf(event))?.focus();

/** `degradedResponseTime` → "degraded response time". */
const fieldsOf = ({ fields }: CheckEvent) =>
  fields.map((name) => name.replaceAll(/[A-Z]/g, ' $&').toLowerCase()).join(', ');

function describe(event: CheckEvent) {
  const { kind, name, startedAt, endedAt } = event;
  const end = endedAt === null ? (isRange(event) ? ', ongoing' : '') : ` to ${shortTime(endedAt)}`;
  const what = fieldsOf(event) === '' ? '' : ` (${fieldsOf(event)})`;
  return `${kinds[kind].word}: ${name}${what}, ${shortTime(startedAt)}${end}`;
}

/** The same object while nothing has moved. */
export function shownBy({ bbox, data, scales: { x } }: Plot, before: Shown | null): Shown {
  const { min = 0, max = 0 } = x ?? {};
  const shown = {
    ...{ min, max, left: bbox.left / devicePixelRatio, width: bbox.width / devicePixelRatio },
    end: max === data[0].at(-1) ? max + weekMs : max,
  };
  return before !== null && JSON.stringify(shown) === JSON.stringify(before) ? before : shown;
}

/** A line where each begins, a bar above while it lasts, and a shade behind maintenance. */
export function drawEvents(plot: Plot, events: CheckEvent[], color: string, shade: string) {
  const { min, max, end } = shownBy(plot, null);
  const { ctx, bbox } = plot;
  const x = (at: number) =>
    Math.min(Math.max(plot.valToPos(at, 'x', true), bbox.left), bbox.left + bbox.width);
  ctx.save();
  ctx.strokeStyle = color;
  for (const event of events) {
    if (from(event) > end || until(event) < min) continue;
    const [left, right] = [x(from(event)), x(Math.min(until(event), max))];
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    if (from(event) >= min) {
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + bbox.height);
    }
    ctx.stroke();
    if (!isRange(event)) continue;
    ctx.fillStyle = shade;
    if (event.kind === 'MAINTENANCE') ctx.fillRect(left, bbox.top, right - left, bbox.height);
    else ctx.setLineDash([]);
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(right, bbox.top);
    ctx.stroke();
  }
  ctx.restore();
}

/** Events that would stand on each other share a mark. */
function grouped(events: CheckEvent[], { min, max, left, width, end }: Shown) {
  const marks: { x: number; events: CheckEvent[] }[] = [];
  for (const event of events) {
    if (from(event) > end || until(event) < min) continue;
    const x = left + ((Math.min(Math.max(from(event), min), max) - min) / (max - min)) * width;
    const last = marks.at(-1);
    if (last !== undefined && x - last.x < markPx) last.events.push(event);
    else marks.push({ x, events: [event] });
  }
  return marks;
}

function linkOf({ kind, id, name }: CheckEvent, isAdmin: boolean) {
  if (kind === 'INCIDENT') return link('incidents', id);
  if (kind === 'MAINTENANCE') return link('edit', 'window', id);
  return isAdmin ? `${link('settings', 'audit')}?search=${encodeURIComponent(name)}` : undefined;
}

interface Props {
  events: CheckEvent[];
  isAdmin: boolean;
}

/** The marks above a chart. Several in one place, and what has no page, lead to the list below the charts. */
export function Marks({ events, isAdmin, shown }: Props & { shown: Shown | null }) {
  if (events.length === 0) return null;
  const marks = shown === null ? [] : grouped(events, shown);
  return (
    <ul class="marks" aria-label="Events on the time axis">
      {marks.map(({ x, events: [first, ...others] }) => {
        if (first === undefined) return null;
        const href = others.length > 0 ? undefined : linkOf(first, isAdmin);
        const amount = others.length + 1;
        const each = [first, ...others].map(describe).join('\n');
        const words = amount === 1 ? each : `${amount} events:\n${each}`;
        const inside = amount === 1 ? <Picture name={kinds[first.kind].glyph} /> : amount;
        return (
          <li key={rowOf(first)} style={{ left: `${x}px` }}>
            {href === undefined ? (
              <button type="button" title={words} aria-label={words} onClick={() => toRow(first)}>
                {inside}
              </button>
            ) : (
              <a href={href} title={words} aria-label={words}>
                {inside}
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}

export function EventList({ events, isAdmin }: Props) {
  if (events.length === 0) return null;
  return (
    <Section title="Events">
      <ul class="events">
        {events.toReversed().map((event) => (
          <li key={rowOf(event)} id={rowOf(event)} tabindex={-1}>
            <Picture name={kinds[event.kind].glyph} />
            <span class="muted">{kinds[event.kind].word}</span>
            <a href={linkOf(event, isAdmin)}>{event.name}</a>
            <span class="muted">
              {fieldsOf(event) !== '' && `${fieldsOf(event)} · `}
              <Time at={event.startedAt} />
              {event.endedAt !== null && (
                <>
                  {' – '}
                  <Time at={event.endedAt} />
                </>
              )}
              {event.endedAt === null && isRange(event) && ', ongoing'}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
