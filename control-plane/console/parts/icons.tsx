/** Shapes of states, which differ without colour, and pictures of places and actions. */
import type { Tone } from '../state.ts';

const shapes: Record<Tone, string> = {
  good: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.3 5.3-4 4.200-2.600-2.500',
  bad: 'M5 1h6l4 4v6l-4 4H5l-4-4V5Zm.5 4.500 5 5m0-5-5 5',
  warn: 'M8 1.500 15 14H1Zm0 4.500v4m0 1.800v.2',
  error: 'M8 1l7 7-7 7-7-7Zm0 3.700v4m0 2v.2',
  quiet: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1ZM5 8h6',
};

export const glyphs = {
  monitors: 'M1 8h3.500l2-5 3 10 2-5H15',
  alerts: 'M8 1.500a4 4 0 0 0-4 4V9l-1.500 2.500h11L12 9V5.500a4 4 0 0 0-4-4ZM6.500 14h3',
  incidents: 'M3 15V1.500h9.500L10.500 5l2 3.500H3',
  'status-pages': 'M1.500 2.500h13v11h-13ZM1.500 6h13M4.500 9h3m-3 2h5',
  locations:
    'M8 15s5-4.500 5-8.500a5 5 0 0 0-10 0C3 10.500 8 15 8 15Zm0-6.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  tests: 'M6 1.500h4M7 1.500v5l-4.500 7h11L9 6.500v-5M5 10h6',
  settings: 'M1 4h6m4 0h4M9 2v4M1 12h3m4 0h7M6 10v4',
  search: 'M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2Zm3.600 8.600L15 15',
  theme: 'M8 1.500a6.500 6.500 0 1 0 0 13Zm0 0a6.500 6.500 0 0 1 0 13',
  guide:
    'M8 4C6.500 2.500 4 2.500 1.500 3v10c2.500-.5 5-.5 6.500 1 1.500-1.500 4-1.500 6.500-1V3C12 2.500 9.500 2.500 8 4Zm0 0v10',
  person: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm-6 6.500c.5-3 2.500-4 6-4s5.500 1 6 4',
  leave: 'M6 2H2v12h4M6 8h8.500m-3.500-3.500L14.500 8 11 11.500',
  fold: 'M1.500 2.500h13v11h-13ZM6 2.500v11m5-8L8.500 8 11 10.500',
  plus: 'M8 2v12M2 8h12',
  list: 'M1.500 4h.1m0 4h0m0 4h.1M5 4h9.500M5 8h9.500M5 12h9.500',
  run: 'M4 2.500v11L13.500 8Z',
  mute: 'M1.500 6v4h3L8 13V3L4.500 6Zm9.500.5 4 4m0-4-4 4',
  edit: 'M2 14l.5-3L11 2.500l2.500 2.500L5 13.500Z',
  copy: 'M5 5h9.500v9.500H5ZM3 11H1.500V1.500H11V3',
  deploy: 'M8 11V2m-3.500 3.500L8 2l3.500 3.500M2 14h12',
  pause: 'M5 2.500v11m6-11v11',
};
export type Glyph = keyof typeof glyphs;

/** Decorative: a word beside it says the same. */
export function Picture({ name }: { name: Glyph }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={glyphs[name]} />
    </svg>
  );
}

/** Decorative: a word beside it says the same. */
export function Icon({ tone }: { tone: Tone }) {
  return (
    <svg class={`icon ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[tone]} />
    </svg>
  );
}

/** A state as shape, colour and word. */
export function State({ tone, word }: { tone: Tone; word: string }) {
  return (
    <span class={`state ${tone}`}>
      <Icon tone={tone} />
      <span>{word}</span>
    </span>
  );
}
