/** Shapes of states, which differ without colour. */
import type { Tone } from '../state.ts';

const shapes: Record<Tone, string> = {
  good: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.3 5.3-4 4.200-2.600-2.500',
  bad: 'M5 1h6l4 4v6l-4 4H5l-4-4V5Zm.5 4.500 5 5m0-5-5 5',
  warn: 'M8 1.500 15 14H1Zm0 4.500v4m0 1.800v.2',
  error: 'M8 1l7 7-7 7-7-7Zm0 3.700v4m0 2v.2',
  quiet: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1ZM5 8h6',
};

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
