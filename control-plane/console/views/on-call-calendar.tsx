/** Who is on call by a policy, week by week. Overrides are made, moved and removed where they are drawn. */
import type { RotationFields } from '@monitor/shared/contract/escalation-policy.ts';
import type { DataAt } from '../contract.ts';
import { useMemo, useRef, useState, type Dispatch, type StateUpdater } from 'preact/hooks';
import { changeNow } from '../api.ts';
import {
  later,
  levelsOf,
  mondayOf,
  pageDays,
  placeIn,
  rowsOf,
  type Change,
  type Override,
  type Row,
  type Zoom,
} from '../calendar.ts';
import { dayLabel, inWords, shortTime, tickLabel } from '../format.ts';
import { clockAt, instantAt, localTime, timeZone } from '../own-zone.ts';
import { isSame } from '../forms/values.ts';
import { useMe } from '../me.ts';
import { Action, Choice, Section } from '../parts/layout.tsx';
import { useAttempt } from '../parts/notices.tsx';
import { Time, useTick } from '../parts/time.tsx';
import { Problem } from '../problem.ts';
import { useQuery } from '../query.ts';
import { changeQuery, choosing, type Query } from '../router.ts';
import { OverrideDialog } from './override-dialog.tsx';

type Policy = DataAt<`v1/escalation-policies/${string}`>;

const iso = (instant: number) => new Date(instant).toISOString();

function textOf({ from, until, person }: Override) {
  return `${person}, ${shortTime(from)} to ${shortTime(until)}`;
}

/** Saves changes of overrides on top of what others have saved meanwhile. */
function useChanges(path: `v1/escalation-policies/${string}`) {
  const [last, setLast] = useState<Change | null>(null);
  const change = async ({ old, next, at }: Change) => {
    let place = 0;
    await changeNow(path, ({ rotation }) => {
      const overrides = rotation?.overrides ?? [];
      const found = overrides.findIndex((one) => isSame(one, old));
      if (rotation == null || (old !== null && found < 0)) {
        throw new Problem(409, 'somebody else changed or removed this override meanwhile');
      }
      place = old === null ? (at ?? overrides.length) : found;
      const changed = overrides.toSpliced(
        place,
        old === null ? 0 : 1,
        ...(next === null ? [] : [next]),
      );
      return { rotation: { ...rotation, overrides: changed } };
    });
    setLast({ old: next, next: old, at: place });
  };
  return { last, change, forget: () => setLast(null) };
}

/** What is being dragged: a new override, one as a whole, or one of its ends. */
interface Drag {
  kind: 'new' | 'move' | 'from' | 'until';
  column: number;
  old: Override | null;
}

function draggedTo({ kind, column, old }: Drag, to: number, ticks: number[], zoom: Zoom): Override {
  const [start = 0] = ticks.slice(to);
  const [end = start] = ticks.slice(to + 1);
  if (old === null) {
    const [first = 0, last = 0] = [Math.min(column, to), Math.max(column, to)];
    return { from: iso(ticks[first] ?? start), until: iso(ticks[last + 1] ?? end), person: '' };
  }
  const { from, until, person } = old;
  if (kind === 'from') return start < Date.parse(until) ? { ...old, from: iso(start) } : old;
  if (kind === 'until') return end > Date.parse(from) ? { ...old, until: iso(end) } : old;
  const moved = (at: string) => iso(later(Date.parse(at), to - column, zoom));
  return { from: moved(from), until: moved(until), person };
}

function columnAt({ clientX, clientY }: PointerEvent) {
  for (const { dataset } of document.elementsFromPoint(clientX, clientY) as HTMLElement[]) {
    if (dataset.column !== undefined) return Number(dataset.column);
  }
  return null;
}

interface Draft {
  old: Override | null;
  next: Override;
}
type Setter<Value> = Dispatch<StateUpdater<Value>>;

/** Pointer and keyboard: both change a draft, which is then saved or asked about in the dialog. */
function useDragging(
  { ticks, zoom, overrides }: { ticks: number[]; zoom: Zoom; overrides: Override[] },
  { draft, setDraft }: { draft: Draft | null; setDraft: Setter<Draft | null> },
  { save, ask }: { save: (draft: Draft) => void; ask: (draft: Draft) => void },
) {
  const drag = useRef<Drag | null>(null);
  const [focus, setFocus] = useState({ column: 0, from: 0 });
  const perRow = zoom === 'hours' ? 24 : 7;
  const onPointerDown = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const { override: index, grip } = (event.target as HTMLElement).dataset;
    const column = columnAt(event);
    if (column === null || event.button !== 0) return;
    const old = overrides[Number(index ?? NaN)] ?? null;
    drag.current = { kind: old === null ? 'new' : ((grip ?? 'move') as Drag['kind']), column, old };
    event.currentTarget.setPointerCapture(event.pointerId);
    if (old !== null) return;
    setDraft({ old, next: draggedTo(drag.current, column, ticks, zoom) });
    // The keyboard goes on from here.
    setFocus({ column, from: column });
  };
  const onPointerMove = (event: PointerEvent) => {
    const column = drag.current && columnAt(event);
    if (drag.current === null || column === null) return;
    if (drag.current.old !== null && column === drag.current.column && draft === null) return;
    setDraft({ old: drag.current.old, next: draggedTo(drag.current, column, ticks, zoom) });
  };
  const end = () => {
    drag.current = null;
    setDraft(null);
  };
  const onPointerUp = () => {
    const old = drag.current?.old ?? null;
    const dropped = draft ?? (old && { old, next: old });
    if (drag.current === null || dropped === null) return;
    drag.current = null;
    if (old === null || isSame(old, dropped.next)) ask(dropped);
    else save(dropped);
  };
  const onCellKey = (event: KeyboardEvent, column: number) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -perRow, ArrowDown: perRow }[event.key];
    const next = column + (step ?? 0);
    if (step === undefined || next < 0 || next >= ticks.length - 1) return;
    event.preventDefault();
    const from = event.shiftKey ? focus.from : next;
    setFocus({ column: next, from });
    const selected: Drag = { kind: 'new', column: from, old: null };
    setDraft(event.shiftKey ? { old: null, next: draggedTo(selected, next, ticks, zoom) } : null);
    document.querySelector<HTMLElement>(`[data-column="${next}"]`)?.focus();
  };
  const onBarKey = (event: KeyboardEvent, old: Override) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const now = draft !== null && isSame(draft.old, old) ? draft.next : old;
    if (step !== undefined) {
      const moved = (at: string) => iso(later(Date.parse(at), step, zoom));
      const from = event.shiftKey ? now.from : moved(now.from);
      const next = { from, until: moved(now.until), person: now.person };
      if (Date.parse(next.until) > Date.parse(from)) setDraft({ old, next });
    } else if (event.key === 'Enter' && !isSame(now, old)) save({ old, next: now });
    else if (event.key === 'Enter' || event.key === ' ') ask({ old, next: old });
    else return;
    event.preventDefault();
  };
  const onKeyDown = ({ key }: KeyboardEvent) => key === 'Escape' && end();
  return {
    root: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: end, onKeyDown },
    ...{ focus, onCellKey, onBarKey, end },
  };
}

interface Drawn {
  row: Row;
  first: number;
  turns: { person: string; from: string; until: string }[];
  shown: Override[];
  overrides: Override[];
  zoom: Zoom;
  mayWrite: boolean;
  dragging: ReturnType<typeof useDragging>;
  ask: (draft: Draft) => void;
  ticks: number[];
}

const fromTop = (bars: number) => `calc(var(--bars-top) + ${bars * 28}px)`;

function WeekOrDay(props: Drawn) {
  const { row, first, turns, shown, overrides, zoom, mayWrite, dragging, ask, ticks } = props;
  const [start = 0, end = 0] = [row[0], row.at(-1)];
  const isIn = (one: { from: string; until: string }) =>
    Date.parse(one.from) < end && Date.parse(one.until) > start;
  const across = ({ from, until }: { from: string; until: string }) => {
    const left = placeIn(row, Date.parse(from));
    return { left: `${left}%`, width: `${placeIn(row, Date.parse(until)) - left}%` };
  };
  const here = shown.filter(isIn);
  const levels = levelsOf(here);
  const height = Math.max(0, ...levels) + 1;
  const now = Date.now();
  return (
    <div class="on-call-row" style={{ height: fromTop(height + 1) }}>
      <div class="cells">
        {row.slice(0, -1).map((tick, index) => {
          const column = first + index;
          const isNamed = zoom === 'weeks' || index === 0;
          const word = isNamed ? dayLabel(tick) : index % 3 === 0 ? tickLabel(tick) : '';
          const kind = (row[index + 1] ?? tick) <= now ? 'past' : '';
          if (!mayWrite) return <span class={kind}>{word}</span>;
          return (
            <button
              type="button"
              key={tick}
              class={kind}
              data-column={column}
              tabindex={column === dragging.focus.column ? 0 : -1}
              aria-label={`New override, ${dayLabel(tick)}${zoom === 'hours' ? `, ${tickLabel(tick)}` : ''}`}
              onKeyDown={(event) => dragging.onCellKey(event, column)}
              onClick={({ detail }) => {
                // A pointer has asked already.
                if (detail > 0) return;
                const { from } = dragging.focus;
                const selected: Drag = { kind: 'new', column: from, old: null };
                ask({ old: null, next: draggedTo(selected, column, ticks, zoom) });
              }}
            >
              {word}
            </button>
          );
        })}
      </div>
      {here.map((one, index) => {
        const place = {
          ...across(one),
          top: fromTop(height - 1 - (levels[index] ?? 0)),
        };
        const at = shown.indexOf(one);
        const old = overrides[at];
        if (old === undefined || !mayWrite) {
          return (
            <span class="bar override" key={at} style={place}>
              {one.person}
            </span>
          );
        }
        return (
          <button
            type="button"
            key={at}
            class="bar override"
            style={place}
            data-override={at}
            aria-label={`Override: ${textOf(one)}`}
            title={textOf(one)}
            onKeyDown={(event) => dragging.onBarKey(event, old)}
          >
            {Date.parse(one.from) >= start && <i data-override={at} data-grip="from" />}
            {one.person}
            {Date.parse(one.until) <= end && <i data-override={at} data-grip="until" />}
          </button>
        );
      })}
      {turns.filter(isIn).map((turn) => (
        <span
          class="bar"
          key={turn.from}
          title={textOf(turn)}
          style={{ ...across(turn), top: fromTop(height) }}
        >
          {turn.person}
        </span>
      ))}
      {start <= now && now < end && (
        <span class="now" style={{ left: `${placeIn(row, now)}%` }}>
          Now
        </span>
      )}
    </div>
  );
}

const zooms: [Zoom, string][] = [
  ['weeks', 'Four weeks'],
  ['hours', 'Hours of a week'],
];

function Paging({ monday, zoom }: { monday: number; zoom: Zoom }) {
  const page = (pages: number) => () =>
    changeQuery({
      from: localTime(iso(later(monday, pages * pageDays[zoom], 'weeks'))).slice(0, 10),
    });
  return (
    <div class="actions">
      <button type="button" onClick={page(-1)}>
        Earlier
      </button>
      <button type="button" onClick={() => changeQuery({ from: '' })}>
        Today
      </button>
      <button type="button" onClick={page(1)}>
        Later
      </button>
      <Choice label="Zoom" options={zooms} value={zoom} onChange={choosing('zoom')} />
    </div>
  );
}

export function OnCallCalendar({
  policy,
  rotation,
  query,
}: {
  policy: Policy;
  /** As the server gives it, with every default. */
  rotation: RotationFields;
  query: Query;
}) {
  useTick();
  const { mayWrite } = useMe();
  const zoom = query.zoom === 'hours' ? 'hours' : 'weeks';
  const monday = mondayOf(query.from, Date.now());
  const rows = useMemo(() => rowsOf(monday, zoom), [monday, zoom]);
  const ticks = [...rows.flatMap((row) => row.slice(0, -1)), rows.at(-1)?.at(-1) ?? monday];
  const path = `v1/escalation-policies/${policy.id}` as const;
  const read = useQuery(`${path}/shifts`, {
    query: { from: monday / 1000, to: (ticks.at(-1) ?? monday) / 1000 },
    everyMs: 60_000,
  });
  const changes = useChanges(path);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [asked, setAsked] = useState<Draft | null>(null);
  const [problem, attempt] = useAttempt();
  const { overrides } = rotation;
  const save = (change: Change) =>
    attempt(() => changes.change(change))().finally(() =>
      // Another one may have been begun meanwhile.
      setDraft((now) => (now?.next === change.next ? null : now)),
    );
  const ask = (one: Draft) => {
    changes.forget();
    setDraft(one);
    setAsked(one);
  };
  const dragging = useDragging(
    { ticks, zoom, overrides },
    { draft, setDraft },
    { save: (one) => void save(one), ask },
  );
  const close = () => {
    setAsked(null);
    setDraft(null);
  };
  const drawn = overrides.map((one) => (draft && isSame(one, draft.old) ? draft.next : one));
  const shown = draft !== null && draft.old === null ? [...drawn, draft.next] : drawn;
  const { handoverDay, handoverTime, timezone } = rotation;
  let first = 0;
  const thisHour = clockAt(Date.now()).setUTCMinutes(0, 0, 0);
  const nextHour = later(instantAt(thisHour), 1, 'hours');
  const soon = { from: iso(nextHour), until: iso(later(nextHour, 1, 'weeks')), person: '' };
  return (
    <Section title="On call" aside={<Paging monday={monday} zoom={zoom} />}>
      <p class="muted">
        Times are yours ({timeZone}). Handover: {inWords(handoverDay)}, {handoverTime} {timezone}.
        {mayWrite &&
          ` Drag over ${zoom === 'hours' ? zoom : 'days'} for an override; drag it to move or resize it.`}
      </p>
      {problem}
      <div class="scroll on-call-scroll" tabindex={0} role="region" aria-label="On-call calendar">
        <div class={`on-call ${zoom}`} {...(mayWrite ? dragging.root : {})}>
          {rows.map((row) => {
            const at = first;
            first += row.length - 1;
            return (
              <WeekOrDay
                key={row[0]}
                {...{ row, shown, overrides, zoom, mayWrite, dragging, ask, ticks }}
                first={at}
                turns={read.data?.turns ?? []}
              />
            );
          })}
        </div>
      </div>
      <ul class="legend" aria-hidden="true">
        <li>
          <span class="swatch override" /> Override
        </li>
        <li>
          <span class="swatch" /> Rotation
        </li>
      </ul>
      <div class="actions">
        {mayWrite && (
          <button type="button" onClick={() => ask({ old: null, next: soon })}>
            New override
          </button>
        )}
        <span role="status">
          {draft !== null &&
            asked === null &&
            `${textOf(draft.next)}. Enter saves, Escape cancels.`}
          {changes.last !== null && draft === null && 'Saved. '}
        </span>
        {changes.last !== null && draft === null && (
          <Action
            word="Undo"
            busy="Working"
            run={async () => {
              if (changes.last !== null) await save(changes.last);
              changes.forget();
            }}
          />
        )}
      </div>
      <h3 class="section">Shifts</h3>
      <ol class="timeline" aria-label="Shifts">
        {read.data?.shifts.map((one) => (
          <li key={one.from}>
            <span class="breakable">
              {one.person}
              {one.isOverride && ' (override)'}
            </span>
            <span>
              <Time at={one.from} /> to <Time at={one.until} />
            </span>
          </li>
        ))}
      </ol>
      {asked !== null && (
        <OverrideDialog draft={asked} policy={policy} change={changes.change} onClose={close} />
      )}
    </Section>
  );
}
