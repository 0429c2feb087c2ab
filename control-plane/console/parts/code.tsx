/** Machine-written text: bodies, headers, scripts. Long texts are collapsed. */
import { useState } from 'preact/hooks';
import { bytes } from '../format.ts';

const shownAtOnce = 20_000;

/** Indented JSON; other text unchanged. */
export function prettyJson(text: string) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function CopyButton({ text, what = 'Copy' }: { text: string; what?: string }) {
  const [word, setWord] = useState(what);
  if (navigator.clipboard === undefined) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setWord('Copied');
    } catch {
      setWord('Not allowed by the browser');
    }
    setTimeout(() => setWord(what), 2000);
  };
  return (
    <button type="button" class="plain-button" onClick={() => void copy()}>
      {word}
    </button>
  );
}

export function Code({
  text,
  label,
  isTruncated = false,
}: {
  text: string;
  label: string;
  isTruncated?: boolean;
}) {
  const [isWhole, setWhole] = useState(false);
  const pretty = prettyJson(text);
  const isCut = !isWhole && pretty.length > shownAtOnce;
  return (
    <div class="code">
      <div class="code-head">
        <span>
          {label}
          {isTruncated ? ' (truncated)' : ''}
        </span>
        <CopyButton text={text} />
      </div>
      <pre tabindex={0} role="region" aria-label={label}>
        {isCut ? pretty.slice(0, shownAtOnce) : pretty}
      </pre>
      {isCut && (
        <button type="button" class="plain-button" onClick={() => setWhole(true)}>
          Show all {bytes(text.length)}
        </button>
      )}
    </div>
  );
}

/** A list of names and values, such as headers. */
export function Pairs({
  label,
  pairs,
}: {
  label: string;
  pairs: Record<string, unknown> | { key: string; value: string }[] | undefined;
}) {
  const entries = Array.isArray(pairs)
    ? pairs.map(({ key, value }) => [key, value])
    : Object.entries(pairs ?? {});
  if (entries.length === 0) return null;
  return (
    <div class="code">
      <div class="code-head">
        <span>{label}</span>
        <CopyButton text={entries.map(([name, value]) => `${name}: ${value}`).join('\n')} />
      </div>
      <dl class="pairs">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{Array.isArray(value) ? value.join(', ') : String(value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
