/** Relabelling of Prometheus: what becomes of the labels of a target. */
import { createHash } from 'node:crypto';
import { SourceError } from '../mover.ts';
import { lookUp, SourceObject, type Fields, textOf } from '../source-object.ts';

export type Labels = Record<string, string>;

/** An expression of Go in JavaScript; it must match the whole text. */
export function anchored(pattern: string): RegExp {
  const [, flags = '', rest = pattern] = /^\(\?([is]+)\)(.*)$/s.exec(pattern) ?? [];
  try {
    return new RegExp(
      `^(?:${rest.replaceAll('(?P<', '(?<')})$`,
      [...new Set(`s${flags}`)].join(''),
    );
  } catch {
    throw new SourceError(`the regular expression \`${pattern}\` is not valid`);
  }
}

export type Matcher = (labels: Labels) => boolean;

/** Of PromQL and of routes; a label that is missing is empty. */
export function matcherOf(label: string, how: string, wanted: string): Matcher {
  const pattern = how.includes('~') ? anchored(wanted) : null;
  const isNegated = how.startsWith('!');
  return (labels) => {
    const value = labels[label] ?? '';
    return (pattern?.test(value) ?? value === wanted) !== isNegated;
  };
}

/** `$1`, `${1}` and `${name}` in a replacement. */
function expand(replacement: string, match: RegExpExecArray): string {
  return replacement.replace(
    /\$(?:\{(\w+)\}|(\w+)|\$)/g,
    (whole, braced: string | undefined, bare: string | undefined) => {
      const name = braced ?? bare;
      if (name === undefined) return whole === '$$' ? '$' : whole;
      return (/^\d+$/.test(name) ? match[Number(name)] : match.groups?.[name]) ?? '';
    },
  );
}

interface Rule {
  source: string;
  regex: RegExp;
  target: string;
  replacement: string;
  modulus: number;
}

/** Gives null to drop the target. */
type Action = (labels: Labels, rule: Rule) => Labels | null;

const set = (labels: Labels, name: string, value: string): Labels => {
  const { [name]: _old, ...others } = labels;
  return value === '' ? others : { ...others, [name]: value };
};
const where = (labels: Labels, keeps: (name: string) => boolean): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => keeps(name)));

const actions: Readonly<Record<string, Action>> = {
  replace: (labels, { source, regex, target, replacement }) => {
    const match = regex.exec(source);
    return match === null ? labels : set(labels, expand(target, match), expand(replacement, match));
  },
  keep: (labels, { source, regex }) => (regex.test(source) ? labels : null),
  drop: (labels, { source, regex }) => (regex.test(source) ? null : labels),
  keepequal: (labels, { source, target }) => (labels[target] === source ? labels : null),
  dropequal: (labels, { source, target }) => (labels[target] === source ? null : labels),
  lowercase: (labels, { source, target }) => set(labels, target, source.toLowerCase()),
  uppercase: (labels, { source, target }) => set(labels, target, source.toUpperCase()),
  hashmod: (labels, { source, target, modulus }) => {
    const hash = createHash('md5').update(source).digest().readBigUInt64BE(8);
    return set(labels, target, textOf(hash % BigInt(Math.max(1, modulus))));
  },
  labelmap: (labels, { regex, replacement }) =>
    Object.entries(labels).reduce((made, [name, value]) => {
      const match = regex.exec(name);
      return match === null ? made : set(made, expand(replacement, match), value);
    }, labels),
  labeldrop: (labels, { regex }) => where(labels, (name) => !regex.test(name)),
  labelkeep: (labels, { regex }) => where(labels, (name) => regex.test(name)),
};

const text = (value: unknown, otherwise: string) =>
  value === undefined ? otherwise : textOf(value);

/** The labels after all rules; null for a target that a rule drops. */
export function relabel(labels: Labels, configs: readonly Fields[]): Labels | null {
  let current = labels;
  for (const config of configs) {
    const name = text(config['action'], 'replace').toLowerCase();
    const action = lookUp(actions, name);
    if (action === undefined) throw new SourceError(`there is no relabelling action \`${name}\``);
    const sources = new SourceObject(config).texts('source_labels');
    const next = action(current, {
      source: sources.map((label) => current[label] ?? '').join(text(config['separator'], ';')),
      regex: anchored(text(config['regex'], '(.*)')),
      target: text(config['target_label'], ''),
      replacement: text(config['replacement'], '$1'),
      modulus: Number(config['modulus'] ?? 1),
    });
    if (next === null) return null;
    current = next;
  }
  return current;
}
