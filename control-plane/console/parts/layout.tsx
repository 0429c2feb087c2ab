/** Layout parts of pages. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { nothing } from '../format.ts';
import { useMe } from '../me.ts';
import { refresh } from '../query.ts';
import { link } from '../router.ts';
import { Picture, type Glyph } from './icons.tsx';

interface ChoiceProps {
  label: string;
  options: (readonly [value: string, word: string])[];
  value: string;
  onChange: (value: string) => void;
}
export type Columns = (string | [heading: string, className: string])[];

/** A section with a heading; `aside` is placed at the end of the heading line. */
export function Section({
  title,
  id,
  aside,
  children,
}: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  const headingId = id ?? title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return (
    <section class="section" aria-labelledby={headingId}>
      <div class="section-head">
        <h2 id={headingId}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** A link to the form of a new entry, for those who may make one. */
export function NewLink({ name, word, kind = '' }: { name: string; word: string; kind?: string }) {
  const { mayWrite } = useMe();
  return (
    mayWrite && (
      <a class={`button ${kind}`} href={link('new', name)}>
        <Picture name="plus" /> {word}
      </a>
    )
  );
}

/** A list of names and values; entries without a value are left out. */
export function Facts({
  entries,
  wide = false,
}: {
  entries: [name: string, value: ComponentChildren][];
  wide?: boolean;
}) {
  const shown = entries.filter(([, value]) => value != null && value !== false && value !== '');
  return (
    <dl class={wide ? 'facts wide' : 'facts'}>
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A figure with its label below. */
export function Tile({
  name,
  value,
  tone = '',
  title,
}: {
  name: string;
  value?: ComponentChildren;
  tone?: string;
  title?: string;
}) {
  return (
    <div class="tile" title={title}>
      <strong class={tone}>{value ?? nothing}</strong>
      <span>{name}</span>
    </div>
  );
}

/** A choice between a few options. */
export function Choice({ label, options, value, onChange }: ChoiceProps) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([option, word]) => (
        <button
          type="button"
          key={option}
          aria-pressed={option === value}
          onClick={() => onChange(option)}
        >
          {word}
        </button>
      ))}
    </div>
  );
}

export function Select({ label, options, value, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, word]) => (
          <option key={option} value={option} selected={option === value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

/**
 * A table that scrolls horizontally when it is too wide, also by keyboard. A column is a heading,
 * or a heading and a class.
 */
export function Table({
  label,
  columns,
  children,
  className = '',
}: {
  label: string;
  columns: Columns;
  children: ComponentChildren;
  className?: string;
}) {
  return (
    <div class="scroll" tabindex={0} role="region" aria-label={`Table: ${label}`}>
      <table class={className}>
        <thead>
          <tr>
            {columns.map((column) => {
              const [word, kind = ''] = typeof column === 'string' ? [column] : column;
              if (word === '') return <td class={kind} />;
              return (
                <th scope="col" key={word} class={kind}>
                  {word}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Tags({ tags }: { tags: string[] }) {
  return tags.map((tag) => (
    <span class="tag" key={tag}>
      {tag}
    </span>
  ));
}

interface ActionProps {
  word: string;
  busy: string;
  run: () => Promise<unknown>;
  disabled?: boolean;
  title?: string | undefined;
  kind?: string;
  picture?: Glyph;
}

/** A button that runs an action and shows its outcome. */
export function Action({
  word,
  busy,
  run,
  disabled = false,
  title,
  kind = '',
  picture,
}: ActionProps) {
  const [isBusy, setBusy] = useState(false);
  const onClick = async () => {
    setBusy(true);
    try {
      await run();
      await refresh();
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class={kind}
      disabled={disabled || isBusy}
      title={title}
      onClick={() => void onClick()}
    >
      {picture !== undefined && <Picture name={picture} />} {isBusy ? `${busy} …` : word}
    </button>
  );
}
